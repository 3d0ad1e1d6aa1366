import { setTimeout as sleep } from 'node:timers/promises'
import type { AgentManifest } from '../../domain/agent-manifest.ts'
import type { OpenSession } from '../../domain/session.ts'
import { isReadOnlySession } from '../agent-sandbox.ts'
import type { SessionLink } from '../turns.ts'
import { rpcFailure } from './failures.ts'
import type { McpServer } from './start-command.ts'
import { type AcpConnection, AcpOpened, type Initialized, ModeUpdate } from './wire.ts'

export interface OpenedConversation {
  vendorId: string
  model: string
  version: string | undefined
  /** The agent takes messages in the middle of a turn. */
  steers: boolean
}

interface Opening {
  manifest: AgentManifest
  serves: AgentManifest['start']['serves']
  /** Servers that the agent is to start for us. */
  mcpServers: McpServer[]
  open: OpenSession
  signal: AbortSignal
}

/** Does the handshake, opens a new or an old conversation, and puts the agent into the mode in which it asks. */
export async function openConversation(connection: AcpConnection, opening: Opening): Promise<OpenedConversation> {
  const { manifest, open, signal } = opening
  const { files, terminals } = opening.serves
  const initialized = await connection.initialize(
    {
      fs: { readTextFile: files, writeTextFile: files },
      terminal: terminals,
      elicitation: { form: {} },
      // Otherwise an agent reports the compaction of its conversation as a call that nobody was asked about.
      session: { compaction: {} },
    },
    signal,
  )
  const { vendorId, opened } = await requestConversation(connection, initialized, opening)
  const mode = modeFor(manifest, open)
  if (mode !== undefined && opened.modes?.currentModeId !== mode)
    await connection.request('session/set_mode', { sessionId: vendorId, modeId: mode }, signal)
  return {
    vendorId,
    model: modelOf(opened) ?? open.model ?? '',
    version: initialized.agentInfo?.version,
    steers: initialized._meta?.steering?.supported ?? false,
  }
}

async function requestConversation(
  connection: AcpConnection,
  initialized: Initialized,
  { manifest, mcpServers, open, signal }: Opening,
): Promise<{ vendorId: string; opened: AcpOpened }> {
  const isNamedInMeta = manifest.ownTools?.over === 'mcp' && manifest.ownTools.named === 'meta'
  const about = {
    cwd: open.cwd,
    mcpServers: isNamedInMeta ? [] : mcpServers,
    ...(manifest.start.meta && { _meta: metaFor(manifest.start.meta, { open, mcpServers }) }),
  }
  const ask = async (method: string, more: Record<string, unknown>) =>
    AcpOpened.parse((await connection.request(method, { ...about, ...more }, signal)) ?? {})
  if (!open.resume) {
    const opened = await ask('session/new', {})
    if (opened.sessionId === undefined) throw new Error('it opened a session without an id')
    return { vendorId: opened.sessionId, opened }
  }
  const { vendorId, fork } = open.resume
  const { sessionCapabilities, loadSession } = initialized.agentCapabilities ?? {}
  if (fork) {
    if (!manifest.forks || !sessionCapabilities?.fork) throw new Error(`${manifest.name} cannot fork a conversation`)
    const opened = await ask('session/fork', { sessionId: vendorId })
    return { vendorId: opened.sessionId ?? vendorId, opened }
  }
  if (manifest.resume === 'resume' && sessionCapabilities?.resume)
    return { vendorId, opened: await ask('session/resume', { sessionId: vendorId }) }
  if (!loadSession) throw new Error(`${manifest.name} cannot go on with a conversation`)
  return { vendorId, opened: await ask('session/load', { sessionId: vendorId }) }
}

/** Replaces placeholders such as `{tools}` and `{settingSources}` by whole values; keys without a value are left out. */
function metaFor(meta: unknown, about: { open: OpenSession; mcpServers: McpServer[] }): unknown {
  if (Array.isArray(meta)) return meta.map(item => metaFor(item, about))
  if (typeof meta !== 'object' || meta === null) return meta
  const { open, mcpServers } = about
  const values: Record<string, unknown> = {
    '{tools}': open.tools,
    '{disallowedTools}': open.disallowedTools,
    '{settingSources}': sourcesOf(open),
    '{maxTurns}': open.maxTurns,
    '{model}': open.model,
    '{ownServers}': mcpServers.length > 0 ? Object.fromEntries(mcpServers.map(claudeServer)) : undefined,
  }
  const entries = Object.entries(meta).map(([key, value]) => [
    key,
    typeof value === 'string' && value in values ? values[value] : metaFor(value, about),
  ])
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
}

/** `alwaysLoad`: the agent waits for the server before the first prompt and offers its tools with every one. The timeout is long, because a person may take long to answer. */
function claudeServer({ name, command, args }: McpServer) {
  return [name, { type: 'stdio', command, args, alwaysLoad: true, timeout: 24 * 3_600_000 }]
}

/** The protocol cannot leave out only the servers or only the hooks of a project: then all of its settings are left out. */
function sourcesOf({ settingSources, strictMcp, hooksOff }: OpenSession): OpenSession['settingSources'] {
  return strictMcp || hooksOff ? settingSources.filter(source => source === 'user') : settingSources
}

function modelOf({ models, configOptions }: AcpOpened): string | undefined {
  const option = configOptions?.find(({ id }) => id === 'model')?.currentValue
  return models?.currentModelId ?? (typeof option === 'string' ? option : undefined)
}

interface ModeDeps {
  manifest: Pick<AgentManifest, 'modes' | 'name'>
  open: OpenSession
  sessionId: string | undefined
  link: Pick<SessionLink, 'request' | 'cutOff' | 'stopMs'>
}

/** The mode of a session; undefined when it keeps the agent's own. */
function modeFor({ modes }: Pick<AgentManifest, 'modes'>, open: OpenSession): string | undefined {
  return isReadOnlySession(open) ? (modes.readOnly ?? modes.work) : modes.work
}

/** Puts an agent back that has changed its mode by itself, because it may not ask in another mode. If that fails, the agent is ended. */
export function enforceMode(update: Record<string, unknown>, { manifest, open, sessionId, link }: ModeDeps): void {
  const modeId = modeFor(manifest, open)
  const changed = ModeUpdate.safeParse(update).data?.currentModeId
  if (modeId === undefined || changed === undefined || changed === modeId) return
  void resetMode(link, { sessionId, modeId }).then(problem => {
    if (problem === undefined) return
    const message = `${manifest.name} changed to the mode "${changed}" and did not change back: ${problem}`
    link.cutOff({ kind: 'other', message })
  })
}

/** Sets the mode again; returns the problem when that fails. */
async function resetMode(link: ModeDeps['link'], params: Record<string, unknown>): Promise<string | undefined> {
  const late = new AbortController()
  try {
    const answer = link.request('session/set_mode', params).then(
      () => undefined,
      error => rpcFailure(error).message,
    )
    const silence = sleep(link.stopMs, `no answer within ${link.stopMs / 1000} s`, { signal: late.signal, ref: false })
    return await Promise.race([answer, silence.catch(() => undefined)])
  } finally {
    late.abort()
  }
}
