import type { StartSession } from '../../domain/api.ts'
import type { Place } from '../../domain/workspace/place.ts'

/** A task that is to be done somewhere. */
export interface WantedPlace {
  project: string
  task: string
  /** The number of the attempt that will work there. */
  attempt: number
}

/** It works in the project itself, because there is no other place for it. */
export interface InPlace {
  why: string
  /** What became of the copy that was to be made of it first, for the person; nothing where none is needed. */
  copy: string | undefined
  /** The name by which git knows what it held, committed or not; nothing where there is no git. */
  began?: string | undefined
}

/** Where tasks are done. */
export interface Ground {
  /** A worktree for an attempt, or why there is none; then what the project holds has been copied first. Once more gives the same. */
  make(wanted: WantedPlace, settings: Pick<StartSession, 'config' | 'settings'>): Promise<Place | InPlace>
  /** What a task's worktree would be, or why it would have none. Makes nothing. */
  look(
    wanted: Omit<WantedPlace, 'attempt'>,
    settings: Pick<StartSession, 'config' | 'settings'>,
  ): Promise<Pick<Place, 'branch' | 'target'> | Pick<InPlace, 'why'>>
  /** Nothing was begun in it: it goes, unless somebody else has its task by now. Never throws. */
  leave(place: Place, of: { project: string; settings: Pick<StartSession, 'config' | 'settings'> }): Promise<void>
}
