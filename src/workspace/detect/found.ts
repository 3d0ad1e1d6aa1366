import type { CommandKind } from '../../domain/project/project-facts.ts'
import type { Folder } from './folder.ts'

/** A command before it is known where it stands. */
export interface FoundCommand {
  kind: CommandKind
  run: string
  from: string
  declared: boolean
  caution?: string
}

/** What one ecosystem makes of a folder. */
export interface Found {
  ecosystem: string
  manager: string
  manager_from: string
  /** At most one of each kind. */
  commands: FoundCommand[]
  /** Patterns of folders that belong to its workspace, as its own files say them. */
  members?: string[]
}

/** Looks at a folder; undefined where it is none of its own. `above` is what it made of the nearest folder above. */
export type Ecosystem = (folder: Folder, above?: Found) => Promise<Found | undefined>

/** A command that the project names itself. */
export function declared(kind: CommandKind, run: string, from: string): FoundCommand {
  return { kind, run, from, declared: true }
}

/** A command that such a project usually has. */
export function usual(kind: CommandKind, run: string, from: string): FoundCommand {
  return { kind, run, from, declared: false }
}

/** One command of each kind, the first; what is undefined is left out. */
export function firstOfEach(commands: readonly (FoundCommand | undefined | false)[]): FoundCommand[] {
  const kinds = new Map<CommandKind, FoundCommand>()
  for (const command of commands) if (command && !kinds.has(command.kind)) kinds.set(command.kind, command)
  return [...kinds.values()]
}
