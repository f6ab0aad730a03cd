# Writes OUT, a C source with the text of FILES (names in FOLDER, separated by commas) as `const char NAME[]`.
#   cmake -DFOLDER=view/web -DFILES=viewer.css -DNAME=VIEWER_CSS -DOUT=viewer_css.c -P cmake/embed.cmake
# ES modules become one script in the order given: their imports go, and so does the word export. So a name means the
# same in all of them.
string(REPLACE "," ";" files "${FILES}")
set(text "")
foreach(file ${files})
  file(READ ${FOLDER}/${file} one)
  if(file MATCHES "\\.js$")
    string(REGEX REPLACE "(^|\n)import [^\n]*" "\\1" one "${one}")
    string(REGEX REPLACE "\nexport " "\n" one "${one}")
  endif()
  string(APPEND text "${one}")
endforeach()
string(REPLACE "\\" "\\\\" text "${text}")
string(REPLACE "\"" "\\\"" text "${text}")
string(REPLACE "\n" "\\n\"\n\"" text "${text}")
file(WRITE ${OUT} "// By cmake/embed.cmake.\nextern const char ${NAME}[];\nconst char ${NAME}[] =\n\"${text}\";\n")
