# Included by every project() of a build from wheels (CMAKE_PROJECT_INCLUDE), so that CMakeLists.txt can stay as ROS has it.
# Targets exported by the wheels name include folders of the machine that the wheels were made on; CMake refuses folders
# that do not exist.
function(relocate_drop_missing_includes)
  get_directory_property(targets IMPORTED_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(folders ${target} INTERFACE_INCLUDE_DIRECTORIES)
    if(folders)
      set(kept "")
      foreach(folder IN LISTS folders)
        if(folder MATCHES "[$]<" OR EXISTS "${folder}")
          list(APPEND kept "${folder}")
        endif()
      endforeach()
      set_target_properties(${target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${kept}")
    endif()
  endforeach()
endfunction()
cmake_language(DEFER CALL relocate_drop_missing_includes)
