# Writes the metainfo to METAINFO; without HEADWISE_HOMEPAGE it has no links, because they need an existing page.
# Also: cmake -DMETAINFO=FILE -DHEADWISE_HOMEPAGE=URL -P resources/metainfo.cmake
file(READ ${CMAKE_CURRENT_LIST_DIR}/org.headwise.Headwise.metainfo.xml text)
if(HEADWISE_HOMEPAGE)
    set(links "<url type=\"homepage\">${HEADWISE_HOMEPAGE}</url>
  <url type=\"bugtracker\">${HEADWISE_HOMEPAGE}/issues</url>
  <url type=\"vcs-browser\">${HEADWISE_HOMEPAGE}</url>
  <screenshots>")
    set(type " type=\"default\"")
    foreach(picture
        "findings|What stands out from random weights"
        "overview|What an induction head reads and writes"
        "composition|Which heads read what others wrote"
        "prompt|Attention on a prompt"
        "tokens|The strongest entries of the row of a token")
        string(REPLACE "|" ";" picture "${picture}")
        list(GET picture 0 name)
        list(GET picture 1 caption)
        string(APPEND links "
    <screenshot${type}>
      <caption>${caption}</caption>
      <image>${HEADWISE_HOMEPAGE}/raw/HEAD/resources/screenshots/${name}.png</image>
    </screenshot>")
        set(type "")
    endforeach()
    string(APPEND links "\n  </screenshots>")
    string(REGEX REPLACE "<!-- links:[^>]*-->" "${links}" text "${text}")
endif()
file(WRITE ${METAINFO}.new "${text}")
file(COPY_FILE ${METAINFO}.new ${METAINFO} ONLY_IF_DIFFERENT)
file(REMOVE ${METAINFO}.new)
