# Writes OUT, a C source with the text of FILE as `const char NAME[]`.
#   cmake -DFILE=infer/page/page.css -DNAME=PAGE_CSS -DOUT=page_css.c -P cmake/embed.cmake
file(READ ${FILE} text)
string(REPLACE "\\" "\\\\" text "${text}")
string(REPLACE "\"" "\\\"" text "${text}")
string(REPLACE "\n" "\\n\"\n\"" text "${text}")
file(WRITE ${OUT} "// By cmake/embed.cmake.\nextern const char ${NAME}[];\nconst char ${NAME}[] =\n\"${text}\";\n")
