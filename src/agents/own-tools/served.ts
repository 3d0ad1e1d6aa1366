import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDoor } from './door.ts'
import type { OwnTools } from './own-tools.ts'
import { makePlace, programFiles, toolProgram } from './place.ts'

/** The tools of a session as a program that its agent can start: it is told a folder, and finds the rest in there. */
export interface ServedTools extends AsyncDisposable {
  name: string
  command: string
  args: string[]
  /** What a sandbox has to show for it to run. */
  shows: string[]
}

/** Opens the way for an agent to call its tools, in a folder of its own. */
export async function serveOwnTools(own: OwnTools): Promise<ServedTools> {
  const folder = await mkdtemp(join(tmpdir(), 'pcc-tools-'))
  const door = await openDoor(makePlace(folder, own.server), own)
  return {
    name: own.server,
    ...toolProgram(folder),
    shows: [folder, ...programFiles()],
    async [Symbol.asyncDispose]() {
      await door[Symbol.asyncDispose]()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
