! Stands still in a procedure of a module.
module solver
  implicit none
contains
  subroutine exchange(seconds)
    integer, intent(in) :: seconds
    integer :: i
    do i = 1, 2
      call sleep(seconds)
    end do
  end subroutine
end module

program native
  use solver
  implicit none
  call exchange(1000)
end program
