import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AgentManifest } from '../../domain/agents/manifest.ts'
import type { OpenSession } from '../../domain/session.ts'
import type { OwnTools } from '../own-tools/own-tools.ts'
import { serveOwnTools } from '../own-tools/served.ts'
import { prepareHome } from './own-home.ts'

/** A server that an agent is to start, as the protocol tells it. */
export interface McpServer {
  name: string
  command: string
  args: string[]
  env: { name: string; value: string }[]
}

export interface Command {
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
export async function commandFor(
  manifest: AgentManifest,
  { open, program: given, own }: { open: OpenSession; program: string[] | undefined; own?: OwnTools | undefined },
): Promise<Command> {
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
