import { type Fence, placeOf } from '../paths/place.ts'
import { type Arg, HOLE } from './words/arg.ts'
import type { Scope } from './words/scope.ts'

/** Where a program's name leads. */
export type Named =
  /** A bare name or a system path: the program of that name. */
  | { is: 'program'; name: string }
  /** A file of the project: its name says nothing about what it is. */
  | { is: 'project-file'; name: string; path: string }
  | { is: 'foreign-file'; name: string; path: string }
  | { is: 'unknown'; why: string }

const SYSTEM =
  /^\/(usr\/(local\/)?)?s?bin\/([^/]+)$|^\/(opt\/(homebrew|local)|home\/linuxbrew\/\.linuxbrew)\/s?bin\/([^/]+)$|^\/usr\/lib\/git-core\/([^/]+)$/

/** Reads the first word of a command. */
export function nameOf(head: Arg, scope: Scope, fence: Fence): Named {
  const { value } = head
  if (!head.known) {
    const base = value.slice(value.lastIndexOf('/') + 1)
    return { is: 'unknown', why: base.includes(HOLE) ? 'which program it is' : 'where the program lies' }
  }
  if (head.glob) return { is: 'unknown', why: 'which program the pattern finds' }
  if (value === '') return { is: 'unknown', why: 'which program it is' }
  if (!value.includes('/')) return { is: 'program', name: value }
  const name = value.slice(value.lastIndexOf('/') + 1)
  if (scope.cwd === undefined && !value.startsWith('/')) return { is: 'foreign-file', name, path: value }
  const place = placeOf(value, scope.cwd ?? fence.boundary, fence)
  if (place.where === 'strange') return { is: 'unknown', why: 'where the program lies' }
  if (place.where === 'inside') return { is: 'project-file', name, path: place.relative }
  // The spelling and where it leads must both be the system's: a link in /usr/bin is the system's own business.
  const spelled = SYSTEM.exec(value) ?? SYSTEM.exec(place.path)
  if (spelled) return { is: 'program', name: spelled[3] ?? spelled[6] ?? spelled[7] ?? name }
  return { is: 'foreign-file', name, path: place.path }
}
