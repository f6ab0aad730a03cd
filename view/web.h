// SPDX-License-Identifier: Apache-2.0
// The files of view/web/, embedded as strings by the build (cmake/embed.cmake).
#ifndef VPD_VIEW_WEB_H
#define VPD_VIEW_WEB_H

extern const char INDEX_HTML[], VIEWER_CSS[];                          // the page of vpd view
extern const char PAGE_HTML[], PAGE_CSS[], PAGE_JS[], CONTROLS_HTML[]; // of vpd page
extern const char VIEWER_JS[];                                         // the modules, in one

#endif
