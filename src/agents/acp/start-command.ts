import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { messageOf } from '../../base/errors.ts'
import type { AgentManifest, OwnHome } from '../../domain/agent-manifest.ts'
import type { OpenSession } from '../../domain/session.ts'
import { agentMissingError } from '../manifests/manifests.ts'
import type { OwnTools } from '../own-tools.ts'
import { serveOwnTools } from '../own-tools-server.ts'

/** A server that an agent is to start, as the protocol tells it. */
export interface McpServer {
  name: string
  command: string
  args: string[]
  env: { name: string; value: string }[]
}

export interface StartCommand {
  command: string
  args: string[]
  env: Record<string, string>
  /** The folder that was made for it, if one was. */
  shows: string[]
  /** What of it the agent may write. */
  writes: string[]
  mcpServers: McpServer[]
  /** Takes away what was made for it. */
  dispose(): Promise<void>
}

/** The command of a manifest for one session: its files written, its placeholders filled. */
export async function prepareCommand(
  manifest: AgentManifest,
  { open, program: given, own }: { open: OpenSession; program: string[] | undefined; own?: OwnTools | undefined },
): Promise<StartCommand> {
  const { start } = manifest
  const [program = start.command, ...before] = given ?? [start.command]
  const needsFolder = Object.keys(start.files).length > 0 || start.home !== undefined
  const folder = needsFolder ? await mkdtemp(join(tmpdir(), 'pcc-agent-')) : ''
  for (const [name, text] of Object.entries(start.files)) await writeFile(join(folder, name), text, { mode: 0o600 })
  const home = await prepareHome(manifest, { env: open.env, given: join(folder, 'home') })
  const model = open.model
  const cwd = JSON.stringify(open.cwd).slice(1, -1)
  const fill = (text: string) =>
    text
      .replaceAll('{files}', () => folder)
      .replaceAll('{model}', () => model ?? '')
      .replaceAll('{cwd}', () => cwd)
  const chosen = model === undefined ? {} : start.model
  const heard = open.settingSources.includes('project') ? start.trusted?.env : {}
  const env = Object.entries({ ...start.env, ...heard, ...chosen.env }).map(([name, value]) => [name, fill(value)])
  const tools = own && (await serveOwnTools(own))
  return {
    command: program,
    args: [...before, ...start.args, ...(chosen.args ?? [])].map(fill),
    env: {
      ...Object.fromEntries((start.pinned ?? []).map(name => [name, ''])),
      ...open.env,
      ...Object.fromEntries(env),
      ...home?.env,
    },
    shows: [...(folder ? [folder] : []), ...(tools?.shows ?? [])],
    writes: home?.writes ?? [],
    mcpServers: tools ? [{ name: tools.name, command: tools.command, args: tools.args, env: [] }] : [],
    dispose: async () => {
      await tools?.[Symbol.asyncDispose]()
      if (folder) await rm(folder, { recursive: true, force: true })
    },
  }
}

interface PreparedHome {
  /** What tells the agent of it. */
  env: Record<string, string>
  writes: string[]
}

type Json = Record<string, unknown>

/**
 * A home for one session. All that the agent keeps in the person's own is linked, so that a login that is renewed and a conversation that
 * is written are the person's; of its settings there is a copy, with ours over it, because no flag and no variable could set them.
 */
async function prepareHome(
  manifest: AgentManifest,
  { env, given }: { env: Record<string, string>; given: string },
): Promise<PreparedHome | undefined> {
  const { home } = manifest.start
  if (!home) return undefined
  const own = env[home.variable] || env['HOME'] || homedir()
  try {
    await fill(home, { own, given })
  } catch (error) {
    throw agentMissingError(manifest, `a home for it cannot be made from ${own}: ${messageOf(error)}`, error)
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
