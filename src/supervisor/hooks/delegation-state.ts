import { constants } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import * as z from 'zod'
import { secretId } from '../../base/ids.ts'
import { openRealFolder, type RealFolder } from '../../base/real-folder.ts'
import { roleName } from '../../domain/hooks.ts'
import { type SessionKey, shortHash } from './session-notes.ts'

/**
 * The folder in a project in which people see how agents delegate. What counts is kept under the home: an agent may change this
 * folder, and is told so by the comparison.
 */
export const STATE_FOLDER = join('.claude', '.delegation-state')

/** The ranks of agents that work together: a conductor delegates to section leaders or musicians, a section leader to musicians. */
export type AgentRole = 'conductor' | 'section-leader' | 'musician'

/** Reads the name of a rank; undefined for any other word. */
export function parseRole(text: string | undefined): AgentRole | undefined {
  const word = roleName(text)
  return word === 'conductor' || word === 'section-leader' || word === 'musician' ? word : undefined
}

const RoleMarker = z.object({ session: z.string(), role: z.string() })

/**
 * The rank that the marker gives to a conversation: `role.json` names the conversation and its rank, and counts while the
 * process lives whose number is in `role.lock`. Anything else is no marker.
 */
export async function readRoleMarker(project: string, session: string): Promise<AgentRole | undefined> {
  await using folder = await openRealFolder(project, STATE_FOLDER)
  const text = folder && (await readEntry(folder, 'role.json'))
  const lock = folder && (await readEntry(folder, 'role.lock'))
  if (text === undefined || lock === undefined || !isAlive(Number(lock.trim()))) return undefined
  try {
    const marker = RoleMarker.parse(JSON.parse(text))
    return marker.session === session ? parseRole(marker.role) : undefined
  } catch {
    return undefined // not a marker
  }
}

function isAlive(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 1) return false
  try {
    return process.kill(pid, 0)
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'EPERM'
  }
}

export interface DelegationCount {
  role: AgentRole
  count: number
}

/** The file about one agent of a conversation. */
function fileName(key: SessionKey, agent: string): string {
  return `${shortHash(`${key.vendor}\0${key.session}\0${agent}`)}.json`
}

/** The text of the project's file about an agent; undefined if there is none, or it is behind a link. */
export async function readDelegationFile(project: string, key: SessionKey, agent: string): Promise<string | undefined> {
  await using folder = await openRealFolder(project, STATE_FOLDER)
  // Awaited here: the folder is closed at the return.
  return folder && (await readEntry(folder, fileName(key, agent)))
}

/** The text of the file for a count. */
export function delegationText(key: SessionKey, agent: string, { role, count }: DelegationCount): string {
  const { vendor, session } = key
  return `${JSON.stringify({ schema_version: 1, vendor, session, agent, role, calls_since_delegation: count }, null, 2)}\n`
}

/** Replaces the file atomically. False if the folder is behind a link, or cannot be written. */
export async function writeDelegationFile(
  project: string,
  { key, agent, text }: { key: SessionKey; agent: string; text: string },
): Promise<boolean> {
  await using folder = await openRealFolder(project, STATE_FOLDER, { make: true })
  if (!folder) return false
  try {
    // The folder is no part of the work, and must not change the tree that gates check.
    if ((await readEntry(folder, '.gitignore')) === undefined) await replaceEntry(folder, '.gitignore', '*\n')
    await replaceEntry(folder, fileName(key, agent), text)
    return true
  } catch {
    return false // read-only, or something else has the name
  }
}

async function replaceEntry(folder: RealFolder, name: string, text: string): Promise<void> {
  const fresh = folder.at(`.${name}.${secretId(6)}.tmp`)
  try {
    const file = await open(fresh, 'wx', 0o600)
    await file.writeFile(text).finally(() => file.close())
    // A link of that name is replaced, not followed.
    await rename(fresh, folder.at(name))
  } catch (thrown) {
    await rm(fresh, { force: true })
    throw thrown
  }
}

const LARGEST = 10_000

/** The text of a plain small file; undefined for anything else. */
async function readEntry(folder: RealFolder, name: string): Promise<string | undefined> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
  const file = await open(folder.at(name), flags).catch(() => undefined)
  if (!file) return undefined
  try {
    const stats = await file.stat()
    return stats.isFile() && stats.size <= LARGEST ? await file.readFile('utf8') : undefined
  } finally {
    await file.close()
  }
}
