# Most of a compile is parsing headers and instantiating the templates in them. headwise_fast_build(TARGET HEADER...) does both
# for several files at a time: the files of a folder are compiled together, up to thirty to a unit, behind a precompiled header.
# Files of one folder, of all pages and of all commands must therefore not use the same name twice in their anonymous namespaces.
# ccache asks for -fpch-preprocess and -fno-pch-timestamp; GCC takes a type of one file's anonymous namespace in a unit for one of a header's; below the
# memory that a unit needs, its collector costs a tenth of the time.
#
# headwise_fast_build(TARGET FROM OTHER) takes the header of another target, which must be compiled alike.
set(HEADWISE_PRECOMPILED_OPTIONS "$<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess;-Wno-subobject-linkage;SHELL:--param ggc-min-heapsize=524288>"
    "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")

# headwise_moc(TARGET): moc for those of its files that need it, by moc.sh.in. It waits for no library that the target links. Needs
# Qt6::Core.
set(HEADWISE_MOC_SCRIPT ${CMAKE_CURRENT_LIST_DIR}/moc.sh.in)
function(headwise_moc target)
    get_target_property(moc Qt6::moc LOCATION)
    configure_file(${HEADWISE_MOC_SCRIPT} ${CMAKE_BINARY_DIR}/moc.sh @ONLY FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
    set_target_properties(${target} PROPERTIES AUTOMOC ON AUTOMOC_EXECUTABLE ${CMAKE_BINARY_DIR}/moc.sh AUTOGEN_ORIGIN_DEPENDS OFF)
endfunction()

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
        string(REGEX REPLACE "^(pages|commands)/.*" "\\1" folder "${folder}") # a few files each
        string(MAKE_C_IDENTIFIER "in_${folder}" folder)
        list(APPEND folders ${folder})
        list(APPEND ${folder} ${source})
    endforeach()
    list(REMOVE_DUPLICATES folders)
    foreach(folder IN LISTS folders)
        list(LENGTH ${folder} count)
        math(EXPR units "(${count} + 29) / 30")
        set(number 0)
        foreach(source IN LISTS ${folder})
            math(EXPR unit "${number} * ${units} / ${count}")
            math(EXPR number "${number} + 1")
            set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${folder}_${unit}")
        endforeach()
    endforeach()
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    if("${ARGV1}" STREQUAL "FROM")
        target_precompile_headers(${target} REUSE_FROM ${ARGV2})
    else()
        target_precompile_headers(${target} PRIVATE ${ARGN})
    endif()
    target_compile_options(${target} PRIVATE ${HEADWISE_PRECOMPILED_OPTIONS})
endfunction()
