# `cpack -G DEB` in the build folder makes a Debian package of the files that `cmake --install` installs.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME headwise)
set(CPACK_PACKAGE_VENDOR "The Headwise developers")
set(CPACK_PACKAGE_CONTACT "${HEADWISE_MAINTAINER}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "circuit analysis of transformer weights")
set(CPACK_PACKAGE_DESCRIPTION
    "Headwise opens a transformer checkpoint from disk, turns every attention head
into its low-rank QK and OV circuits, and shows what each head reads and writes:
heat maps, singular values, eigenvalues, token tables, composition, attention on
a prompt. The same program works on the command line without a display.")
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
if(HEADWISE_BUILD_GUI)
    # Loaded at run time, unseen by the linker; libqt6svg6 holds the plugins if they have no package of their own.
    set(CPACK_DEBIAN_PACKAGE_DEPENDS "qt6-svg-plugins | libqt6svg6")
    set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "fonts-noto-core, qt6-wayland")
    set(CPACK_DEBIAN_PACKAGE_SUGGESTS "fonts-noto-cjk, python3-h5py")
endif()
if(HEADWISE_HOMEPAGE)
    set(CPACK_DEBIAN_PACKAGE_HOMEPAGE "${HEADWISE_HOMEPAGE}")
endif()
include(CPack)
