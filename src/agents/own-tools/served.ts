import { existsSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { secretId } from '../../base/ids.ts'
import { openDoor } from './door.ts'
import type { OwnTools } from './own-tools.ts'

/** Works from src and from dist alike. */
const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

/** The tools of a session as a program that its agent can start: it is told a folder, and finds the rest in there. */
export interface ServedTools extends AsyncDisposable {
  name: string
  command: string
  args: string[]
  /** The folder that was made for it. */
  folder: string
  /** What a sandbox has to show for it to run. */
  shows: string[]
}

/**
 * Opens the way for an agent to call its tools. The token stands in a file of a folder that only its owner may enter, because some
 * agents put the environment of a server into a command line, where everybody on the machine can read it.
 */
export async function serveOwnTools(own: OwnTools): Promise<ServedTools> {
  const folder = await mkdtemp(join(tmpdir(), 'pcc-tools-'))
  const at = { socket: join(folder, 'tools.sock'), token: secretId() }
  writeFileSync(join(folder, 'tools.json'), JSON.stringify(at), { mode: 0o600 })
  const door = await openDoor({ ...at, names: own.names, call: (name, input, signal) => own.call(name, input, signal) })
  return {
    name: own.server,
    command: process.execPath,
    args: [join(ROOT, 'bin/pcc.js'), 'mcp', '--seat', folder],
    folder,
    shows: [folder, ...programFiles()],
    async [Symbol.asyncDispose]() {
      await door[Symbol.asyncDispose]()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** What our own program is made of. Installed, it finds others in the `node_modules` that it lies in. */
function programFiles(): string[] {
  const at = ROOT.lastIndexOf('/node_modules/')
  const own = ['bin', 'src', 'dist', 'package.json', 'node_modules'].map(name => join(ROOT, name))
  return [...own, ...(at < 0 ? [] : [ROOT.slice(0, at + '/node_modules'.length)])].filter(path => existsSync(path))
}
