import * as z from 'zod'
import type { OpenSession } from '../../../domain/session.ts'
import { AGENT_TOOLS, type AgentToolName, OWN_SERVER } from '../../../domain/tools/agent-tools.ts'
import { mayOnlyRead } from '../reading.ts'
import type { CodexConnection } from '../wire/connection.ts'
import { Initialized, Opened } from '../wire/schemas.ts'
import { instructions } from './instructions.ts'
import { POLICY } from './policy.ts'

export interface OpenedThread {
  vendorId: string
  model: string
  version: string | undefined
  /** Codex's own record of the conversation. */
  rollout: string | undefined
}

interface Opening {
  open: OpenSession
  /** For temporary files. */
  temp: string
  appendPrompt: string | undefined
  signal: AbortSignal
}

/** Told in many pieces, and nobody here listens to them. */
const UNHEARD = [
  'command/exec/outputDelta',
  'item/commandExecution/outputDelta',
  'item/fileChange/outputDelta',
  'item/fileChange/patchUpdated',
  'item/reasoning/textDelta',
  'item/plan/delta',
  'process/outputDelta',
  'turn/diff/updated',
  'thread/readState/changed',
  'app/list/updated',
]

/** Says hello, opens a conversation new or old, and sees to it that the policy we asked for is the one in force. */
export async function openThread(
  connection: CodexConnection,
  { open, temp, appendPrompt, signal }: Opening,
): Promise<OpenedThread> {
  const version = await sayHello(connection, signal)
  const sandbox = mayOnlyRead(open) ? 'read-only' : 'workspace-write'
  const about = {
    cwd: open.cwd,
    // Said outright: a conversation that is resumed has those of before as well.
    runtimeWorkspaceRoots: [open.cwd, temp],
    sandbox,
    ...POLICY,
    ...(open.model && { model: open.model }),
    developerInstructions: instructions(appendPrompt),
  }
  const opened = Opened.parse(await thread(connection, { open, about, signal }))
  if (opened.approvalPolicy !== POLICY.approvalPolicy || opened.approvalsReviewer !== POLICY.approvalsReviewer)
    throw new Error(
      `it does not ask about everything, though it was told to (${JSON.stringify(opened.approvalPolicy)})`,
    )
  if (!isFence(opened.sandbox, { sandbox, writable: [temp, open.cwd] }))
    throw new Error(`its sandbox is ${JSON.stringify(opened.sandbox)}, though it was told ${sandbox}`)
  return { vendorId: opened.thread.id, model: opened.model, version, rollout: opened.thread.path ?? undefined }
}

/** Whether the sandbox that is in force, of a conversation new or old, is no wider than what it was told. */
function isFence(
  { type, networkAccess, writableRoots = [], excludeSlashTmp, excludeTmpdirEnvVar }: Opened['sandbox'],
  told: { sandbox: 'read-only' | 'workspace-write'; writable: string[] },
): boolean {
  if (networkAccess !== false) return false
  if (told.sandbox === 'read-only') return type === 'readOnly'
  const isNarrow = excludeSlashTmp === true && excludeTmpdirEnvVar === true
  return type === 'workspaceWrite' && isNarrow && writableRoots.every(root => told.writable.includes(root))
}

async function sayHello(connection: CodexConnection, signal: AbortSignal): Promise<string | undefined> {
  const clientInfo = { name: 'perpetualcc', title: 'PerpetualCC', version: '1' }
  const capabilities = { experimentalApi: true, requestAttestation: false, optOutNotificationMethods: UNHEARD }
  const answer = await connection.request('initialize', { clientInfo, capabilities }, signal)
  const hello = Initialized.safeParse(answer).data
  if (!hello) throw new Error('its answer to initialize was not understood')
  connection.notify('initialized')
  return /^[^/]*\/(\d[\w.-]*)/.exec(hello.userAgent)?.[1]
}

async function thread(
  connection: CodexConnection,
  { open, about, signal }: { open: OpenSession; about: object; signal: AbortSignal },
): Promise<unknown> {
  const { resume, ownTools = [] } = open
  if (resume) {
    const { vendorId: threadId, fork } = resume
    const past = { ...about, threadId, excludeTurns: true }
    return connection.request(fork ? 'thread/fork' : 'thread/resume', past, signal)
  }
  const dynamicTools = ownTools.length > 0 ? [ourTools(ownTools)] : []
  return connection.request('thread/start', { ...about, dynamicTools, experimentalRawEvents: true }, signal)
}

/** Our tools, which Codex calls through us. A conversation that is resumed has those with which it began. */
function ourTools(names: readonly AgentToolName[]) {
  const tools = names.map(name => {
    const { description, shape } = AGENT_TOOLS[name]
    const inputSchema = z.toJSONSchema(z.strictObject(shape), { io: 'input' })
    return { type: 'function', name, description, inputSchema }
  })
  return { type: 'namespace', name: OWN_SERVER, description: 'The supervisor that you work for.', tools }
}
