import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as z from 'zod'
import { secretId } from '../../base/ids.ts'

/** Works from src and from dist alike. */
const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
/** The kernel takes 107 bytes for a socket's path. */
const LONGEST_SOCKET = 100
const FILE = 'tools.json'

/** Where the tools of a session are called, and what opens it: all that `pcc mcp --seat <folder>` is told. */
const Place = z.object({ server: z.string(), socket: z.string(), token: z.string().min(32) })
export type Place = z.infer<typeof Place>

/**
 * Makes a place in a folder that only its owner may enter. The token stands in a file, because some agents put the environment of a server
 * into a command line, where everybody on the machine can read it.
 */
export function makePlace(folder: string, server: string): Place {
  const inside = join(folder, 'tools.sock')
  const isLong = Buffer.byteLength(inside) > LONGEST_SOCKET
  const socket = isLong ? join(mkdtempSync(join(tmpdir(), 'pcc-tools-')), 'tools.sock') : inside
  const place = { server, socket, token: secretId() }
  writeFileSync(join(folder, FILE), JSON.stringify(place), { mode: 0o600 })
  return place
}

/** The place that an earlier daemon has made there. */
export function findPlace(folder: string): Place | undefined {
  try {
    return Place.safeParse(JSON.parse(readFileSync(join(folder, FILE), 'utf8'))).data
  } catch {
    return undefined // there is none
  }
}

/** The program that serves the tools of a folder. */
export function toolProgram(folder: string): { command: string; args: string[] } {
  return { command: process.execPath, args: [join(ROOT, 'bin/pcc.js'), 'mcp', '--seat', folder] }
}

/** What our own program is made of, for a sandbox that has to show it. Installed, it finds others in the `node_modules` that it lies in. */
export function programFiles(): string[] {
  const at = ROOT.lastIndexOf('/node_modules/')
  const own = ['bin', 'src', 'dist', 'package.json', 'node_modules'].map(name => join(ROOT, name))
  return [...own, ...(at < 0 ? [] : [ROOT.slice(0, at + '/node_modules'.length)])].filter(path => existsSync(path))
}
