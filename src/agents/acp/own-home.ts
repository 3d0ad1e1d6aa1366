import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { messageOf } from '../../base/errors.ts'
import type { AgentManifest, OwnHome } from '../../domain/agents/manifest.ts'
import { agentMissing } from '../manifests/agent-missing.ts'

interface Prepared {
  /** What tells the agent of it. */
  env: Record<string, string>
  writes: string[]
}

type Json = Record<string, unknown>

/**
 * A home for one session. All that the agent keeps in the person's own is linked, so that a login that is renewed and a conversation that
 * is written are the person's; of its settings there is a copy, with ours over it, because no flag and no variable could set them.
 */
export async function prepareHome(
  manifest: AgentManifest,
  { env, given }: { env: Record<string, string>; given: string },
): Promise<Prepared | undefined> {
  const { home } = manifest.start
  if (!home) return undefined
  const own = env[home.variable] || env['HOME'] || homedir()
  try {
    await fill(home, { own, given })
  } catch (error) {
    throw agentMissing(manifest, `a home for it cannot be made from ${own}: ${messageOf(error)}`, error)
  }
  return { env: { [home.variable]: given }, writes: [given] }
}

async function fill(home: OwnHome, { own, given }: { own: string; given: string }): Promise<void> {
  const from = join(own, home.folder)
  const to = join(given, home.folder)
  await mkdir(to, { recursive: true, mode: 0o700 })
  for (const name of home.sharedFolders) await mkdir(join(from, name), { recursive: true, mode: 0o700 })
  const there = (await readdir(from)).filter(name => name !== home.settings && !isPassing(name))
  // A link may lead to what is not there yet: what the agent writes to it begins the person's own.
  for (const name of new Set([...there, ...home.shared])) await symlink(join(from, name), join(to, name))
  for (const name of home.beside) await symlink(join(own, name), join(given, name))
  await writeSettings(home, { file: join(from, home.settings), copy: join(to, home.settings) })
}

/** A lock is held where it lies: a link to it would be a lock that nobody takes away. */
function isPassing(name: string): boolean {
  return name.endsWith('.lock') || name.endsWith('.tmp')
}

async function writeSettings({ over }: OwnHome, { file, copy }: { file: string; copy: string }): Promise<void> {
  const text = await readFile(file, 'utf8').catch(error => {
    if (error.code === 'ENOENT') return '{}'
    throw error
  })
  const settings = parsed(text)
  // The agent itself says best what is wrong with it.
  if (settings === undefined) await symlink(file, copy)
  else await writeFile(copy, JSON.stringify(merged(settings, over), undefined, 2), { mode: 0o600 })
}

/** JSON in which a person may have put comments. */
function parsed(text: string): Json | undefined {
  const bare = text.replace(/"(?:\\.|[^"\\])*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//g, part => (part[0] === '"' ? part : ' '))
  try {
    const value: unknown = JSON.parse(bare)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function merged(settings: Json, over: Json): Json {
  const both = Object.entries(over).map(([key, value]) => {
    const under = settings[key]
    return [key, isObject(value) && isObject(under) ? merged(under, value) : value]
  })
  return { ...settings, ...Object.fromEntries(both) }
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
