import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { messageOf } from '../../base/errors.ts'
import { readRegularFileNow, readTextIfAny } from '../../base/files.ts'
import { isObject } from '../../base/json.ts'
import type { Sandbox } from '../../base/sandbox/sandbox.ts'
import type { AgentManifest, OwnHome } from '../../domain/agent-manifest.ts'
import { agentMissingError } from '../../domain/agents/find-manifest.ts'
import type { OpenSession } from '../../domain/session.ts'
import type { OwnTools } from '../own-tools.ts'
import { serveOwnTools } from '../own-tools-server.ts'

/** A server that the agent is to start, in the protocol's form. */
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
  /** Paths made for the agent, which a sandbox has to show. */
  shows: string[]
  /** Those of the shown paths that the agent may write. */
  writes: string[]
  mcpServers: McpServer[]
  /** Removes what was made for the agent. */
  dispose(): Promise<void>
}

/** Prepares the command of a manifest for one session: writes its files and fills its placeholders. */
export async function prepareCommand(
  manifest: AgentManifest,
  {
    open,
    program: override,
    own,
    marker,
    sandbox,
  }: {
    open: OpenSession
    program: string[] | undefined
    own?: OwnTools | undefined
    /** The marker of the agent's processes. */
    marker?: string
    sandbox?: Pick<Sandbox, 'isWall' | 'agentFolder'> | undefined
  },
): Promise<StartCommand> {
  const { start } = manifest
  refuseUnasked(manifest, open.cwd)
  const [program = start.command, ...before] = override ?? [start.command]
  const needsFolder = Object.keys(start.files).length > 0 || start.home !== undefined
  const folder = needsFolder ? await mkdtemp(join(tmpdir(), 'pcc-agent-')) : ''
  for (const [name, text] of Object.entries(start.files)) await writeFile(join(folder, name), text, { mode: 0o600 })
  const home = await prepareHome(manifest, { env: open.env, given: join(folder, 'home'), sandbox })
  const model = open.model
  const cwd = JSON.stringify(open.cwd).slice(1, -1)
  const fill = (text: string) =>
    text
      .replaceAll('{files}', () => folder)
      .replaceAll('{model}', () => model ?? '')
      .replaceAll('{cwd}', () => cwd)
  const modelStart = model === undefined ? {} : start.model
  const trustedEnv = open.settingSources.includes('project') ? start.trusted?.env : {}
  const env = Object.entries({ ...start.env, ...trustedEnv, ...modelStart.env }).map(([name, value]) => [
    name,
    fill(value),
  ])
  const tools = own && (await serveOwnTools(own, marker))
  return {
    command: program,
    args: [...before, ...start.args, ...(modelStart.args ?? [])].map(fill),
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

/** Agents look for what a project brings in the folders above too, and in the main checkout of a worktree. */
function refuseUnasked(manifest: AgentManifest, cwd: string): void {
  const names = manifest.start.runsUnasked ?? []
  const found = foldersAbove(cwd).flatMap(folder =>
    names.map(name => join(folder, name)).filter(path => existsSync(path)),
  )
  if (found.length === 0) return
  const problem = `it would run the programs that ${found[0]} names without asking, and no setting switches that off. Move it away, or use another agent`
  throw agentMissingError(manifest, problem)
}

const MOST_OF_GIT_FILE = 10_000

function foldersAbove(folder: string): string[] {
  const above = dirname(folder) === folder ? [] : foldersAbove(dirname(folder))
  // The file that a worktree has in place of a folder.
  const gitFile = readRegularFileNow(join(folder, '.git'), MOST_OF_GIT_FILE)?.toString()
  const [, main] = /^gitdir: (.*)\/\.git\/worktrees\/[^/]+$/m.exec(gitFile ?? '') ?? []
  return [folder, ...(main === undefined ? [] : [main]), ...above]
}

interface PreparedHome {
  /** Variables that point the agent to its home. */
  env: Record<string, string>
  writes: string[]
}

type Json = Record<string, unknown>

/**
 * Creates a home for one session. The agent's files in the person's own home are linked, so that a renewed login and a new conversation
 * end up there; in a sandbox, only what its definition leaves of them. Its settings are copied and overridden with ours, because no flag and
 * no variable could set them.
 */
async function prepareHome(
  manifest: AgentManifest,
  {
    env,
    given,
    sandbox,
  }: { env: Record<string, string>; given: string; sandbox: Pick<Sandbox, 'isWall' | 'agentFolder'> | undefined },
): Promise<PreparedHome | undefined> {
  const { home } = manifest.start
  if (!home) return undefined
  const own = env[home.variable] || join(env['HOME'] || homedir(), home.unset ?? '')
  try {
    // Seatbelt shows nothing at another path: there the links lead to the folder itself.
    await fillHome(home, { own, given, target: sandbox?.isWall === false ? sandbox.agentFolder : undefined })
  } catch (error) {
    throw agentMissingError(manifest, `a home for it cannot be made from ${own}: ${messageOf(error)}`, error)
  }
  return { env: { [home.variable]: given }, writes: [given] }
}

async function fillHome(
  home: OwnHome,
  { own, given, target }: { own: string; given: string; target: string | undefined },
): Promise<void> {
  const from = join(own, home.folder)
  const to = join(given, home.folder)
  await mkdir(to, { recursive: true, mode: 0o700 })
  for (const name of home.sharedFolders) await mkdir(join(from, name), { recursive: true, mode: 0o700 })
  const isLinked = (name: string) => home.links === undefined || home.sharedFolders.includes(name)
  const existing = (await readdir(from)).filter(name => name !== home.settings && !isTransient(name) && isLinked(name))
  // A link may lead to a file that does not exist yet: the agent then creates it in the person's own home.
  for (const name of new Set([...existing, ...home.shared])) await symlink(join(target ?? from, name), join(to, name))
  for (const name of home.beside) await symlink(join(own, name), join(given, name))
  await writeSettings(home, { file: join(from, home.settings), copy: join(to, home.settings) })
}

/** Locks and temporary files are not linked: a link to a lock would be a lock that nobody removes. */
function isTransient(name: string): boolean {
  return name.endsWith('.lock') || name.endsWith('.tmp')
}

async function writeSettings({ over }: OwnHome, { file, copy }: { file: string; copy: string }): Promise<void> {
  const text = (await readTextIfAny(file)) ?? '{}'
  const settings = parseSettings(text)
  // The agent itself reports best what is wrong with its settings.
  if (settings === undefined) await symlink(file, copy)
  else await writeFile(copy, JSON.stringify(mergeSettings(settings, over), undefined, 2), { mode: 0o600 })
}

/** Parses JSON that may contain comments. */
function parseSettings(text: string): Json | undefined {
  const bare = text.replace(/"(?:\\.|[^"\\])*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//g, part => (part[0] === '"' ? part : ' '))
  try {
    const value: unknown = JSON.parse(bare)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function mergeSettings(settings: Json, over: Json): Json {
  const overridden = Object.entries(over).map(([key, value]) => {
    const under = settings[key]
    return [key, isObject(value) && isObject(under) ? mergeSettings(under, value) : value]
  })
  return { ...settings, ...Object.fromEntries(overridden) }
}
