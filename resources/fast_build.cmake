# Most of a compile is parsing headers and instantiating the templates in them. headwise_fast_build(TARGET HEADER...) does both
# for several files at a time: the files of a folder are compiled together, sixteen to a unit, behind a precompiled header. Files
# of one folder, and of all pages, must therefore not use the same name twice in their anonymous namespaces.
# ccache asks for -fpch-preprocess and -fno-pch-timestamp; GCC takes a type of one file's anonymous namespace in a unit for one of a header's; below the
# memory that a unit needs, its collector costs a tenth of the time.
set(HEADWISE_PRECOMPILED_OPTIONS "$<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess;-Wno-subobject-linkage;SHELL:--param ggc-min-heapsize=524288>"
    "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")

function(headwise_fast_build target)
    if(NOT HEADWISE_FAST_BUILD)
        return()
    endif()
    get_target_property(sources ${target} SOURCES)
    foreach(source IN LISTS sources)
        if(NOT source MATCHES "\\.cpp$")
            continue()
        endif()
        get_filename_component(folder "${source}" DIRECTORY)
        string(REGEX REPLACE "^pages/.*" "pages" folder "${folder}") # a few files each
        string(MAKE_C_IDENTIFIER "in_${folder}" folder)
        math(EXPR ${folder} "0${${folder}} + 1")
        math(EXPR unit "(${${folder}} - 1) / 16")
        set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${folder}_${unit}")
    endforeach()
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    target_precompile_headers(${target} PRIVATE ${ARGN})
    target_compile_options(${target} PRIVATE ${HEADWISE_PRECOMPILED_OPTIONS})
endfunction()
