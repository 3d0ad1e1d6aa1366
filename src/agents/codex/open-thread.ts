import { lstat, mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { parse, stringify, type TomlTable } from 'smol-toml'
import * as z from 'zod'
import { messageOf } from '../../base/errors.ts'
import { secretId } from '../../base/ids.ts'
import { AGENT_TOOLS, type AgentToolName, OWN_SERVER } from '../../domain/agent-tools.ts'
import type { OpenSession } from '../../domain/session.ts'
import { codexManifest } from '../manifests/codex.ts'
import { agentMissingError } from '../manifests/manifests.ts'
import { mayOnlyRead, POLICY } from './policy.ts'
import { type CodexConnection, Initialized, ThreadOpened } from './wire.ts'

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
  const opened = ThreadOpened.parse(await thread(connection, { open, about, signal }))
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
  { type, networkAccess, writableRoots = [], excludeSlashTmp, excludeTmpdirEnvVar }: ThreadOpened['sandbox'],
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

/** Put behind Codex's own instructions: what is different here from a person at a keyboard. */
const UNATTENDED = `You work unattended under a supervisor, perhaps for hours, and nobody reads along.
- Do the whole task. Do not stop to ask whether to go on; decide small things by yourself and say what you assumed.
- Ask with request_user_input only when a wrong guess would be costly, and put the option that you would take first.
- Every command and every change of a file is judged before it happens. A refusal is final: read the reason, take the way round that it names or another safe one, and do not try the same thing in other words.
- Ask to run outside of the sandbox only where the work cannot be done inside it, and say why.
- Keep a plan with update_plan when the work has more than a few steps, so that the supervisor can see where you are.
- Wait for what you start; processes you leave behind are ended.
- When you are done, report in a few lines: what changed, what you ran to check it and what came out, what is left or was refused. Claim only what you have seen. Your report is checked.`

/** Ours, then what the person wants to add. */
function instructions(more: string | undefined): string {
  return more ? `${UNATTENDED}\n\n${more}` : UNATTENDED
}

/** What of the person's own settings counts: which model, where it is, and how Codex is logged in. */
const COPIED_SETTINGS = [
  'model',
  'model_provider',
  'model_providers',
  'model_reasoning_effort',
  'model_reasoning_summary',
  'model_verbosity',
  'model_context_window',
  'model_auto_compact_token_limit',
  'model_catalog_json',
  'service_tier',
  'personality',
  'chatgpt_base_url',
  'openai_base_url',
  'oss_provider',
  'cli_auth_credentials_store',
  'preferred_auth_method',
  'forced_login_method',
  'forced_chatgpt_workspace_id',
  'project_doc_max_bytes',
  'project_doc_fallback_filenames',
  'tool_output_token_limit',
]
/** Folders that stay the person's own, so that a conversation of ours can be gone on with by hand. */
const SHARED_FOLDERS = ['sessions', 'archived_sessions', 'thread-writer-locks']
/** Codex writes a renewed login through the link, and only one at a time may do that. */
const SHARED_FILES = ['auth.json', 'auth.lock']
/** What the person wants every Codex to know. */
const INSTRUCTIONS = ['AGENTS.md', 'AGENTS.override.md', 'skills']

export interface CodexHome {
  /** The person's own, where conversations are kept. */
  own: string
  /** What Codex is given as its home. */
  given: string
}

/** Where Codex keeps what it keeps, for a process with this environment. */
export function codexHome(env: Record<string, string | undefined>): string {
  return env['CODEX_HOME'] || join(env['HOME'] || homedir(), '.codex')
}

/**
 * A home beside the person's own, in which Codex finds the login, the conversations and the choice of a model, and nothing else. In the
 * person's own it would find rules that let commands run unasked, hooks that answer in our place and servers whose resources it reads
 * without a question; and there is no switch that turns these off. It also writes into its settings: here it writes into a copy.
 */
export async function prepareHome(env: Record<string, string>, settings: { user: boolean }): Promise<CodexHome> {
  const own = codexHome(env)
  const given = join(own, 'pcc')
  try {
    await mkdir(given, { recursive: true, mode: 0o700 })
    for (const name of SHARED_FOLDERS) {
      await mkdir(join(own, name), { recursive: true })
      await link(given, name)
    }
    for (const name of SHARED_FILES) await link(given, name)
    for (const name of INSTRUCTIONS) {
      const isTaken = settings.user && (await isThere(join(own, name)))
      await (isTaken ? link(given, name) : unlink(given, name))
    }
    await replace(join(given, 'config.toml'), await readCopiedSettings(join(own, 'config.toml')))
  } catch (error) {
    throw agentMissingError(codexManifest, `its folder ${own} cannot be prepared: ${messageOf(error)}`, error)
  }
  return { own, given }
}

async function readCopiedSettings(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch(error => {
    if (error.code === 'ENOENT') return ''
    throw error
  })
  const all = parse(text)
  const profile = chosenProfile(all)
  return stringify({ ...pickSettings(all), ...(profile && pickSettings(profile)) })
}

/** The profile that the person's settings name stands over the rest of them. */
function chosenProfile({ profile, profiles }: TomlTable): TomlTable | undefined {
  if (typeof profile !== 'string' || !isTable(profiles)) return undefined
  const chosen = profiles[profile]
  return isTable(chosen) ? chosen : undefined
}

function pickSettings(settings: TomlTable): TomlTable {
  return Object.fromEntries(COPIED_SETTINGS.flatMap(key => (settings[key] === undefined ? [] : [[key, settings[key]]])))
}

function isTable(value: unknown): value is TomlTable {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)
}

async function link(folder: string, name: string): Promise<void> {
  const path = join(folder, name)
  const there = await lstat(path).catch(() => undefined)
  if (there?.isSymbolicLink()) return
  // Codex made one of its own, before there was one to share.
  if (there) await rm(path, { recursive: true, force: true })
  await symlink(join('..', name), path).catch(error => {
    // Another session was faster.
    if (error.code !== 'EEXIST') throw error
  })
}

async function isThere(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined)) !== undefined
}

async function unlink(folder: string, name: string): Promise<void> {
  const path = join(folder, name)
  const there = await lstat(path).catch(() => undefined)
  if (there?.isSymbolicLink()) await rm(path, { force: true })
}

/** At once, because another session may be reading it. */
async function replace(file: string, text: string): Promise<void> {
  const next = `${file}.${secretId(6)}`
  await writeFile(next, text, { mode: 0o600 })
  await rename(next, file)
}
