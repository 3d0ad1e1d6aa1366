import { createHash } from 'node:crypto'
import { lstat, mkdir, readlink, rename, symlink, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { parse, stringify, type TomlTable } from 'smol-toml'
import * as z from 'zod'
import { messageOf } from '../../base/errors.ts'
import { readTextIfAny } from '../../base/files.ts'
import { secretId } from '../../base/ids.ts'
import { removeInside } from '../../base/real-folder.ts'
import { isTable } from '../../base/toml-edit.ts'
import { AGENT_TOOLS, type AgentToolName } from '../../domain/agent-tools.ts'
import { codexAgent } from '../../domain/agents/codex.ts'
import { agentMissingError } from '../../domain/agents/find-manifest.ts'
import { OWN_SERVER } from '../../domain/own-server.ts'
import type { OpenSession } from '../../domain/session.ts'
import { withSandboxLine } from '../agent-sandbox.ts'
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
  /** The folder for temporary files. */
  temp: string
  appendPrompt: string | undefined
  signal: AbortSignal
}

/** Notifications that come in many pieces and that we do not read. */
const IGNORED_NOTIFICATIONS = [
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

/** Does the handshake, opens a new or an old conversation, and checks that the policy we asked for is in force. */
export async function openThread(
  connection: CodexConnection,
  { open, temp, appendPrompt, signal }: Opening,
): Promise<OpenedThread> {
  const version = await initialize(connection, signal)
  const sandbox = mayOnlyRead(open) ? 'read-only' : 'workspace-write'
  const about = {
    cwd: open.cwd,
    // Set explicitly: a resumed conversation has its earlier roots as well.
    runtimeWorkspaceRoots: [open.cwd, temp],
    sandbox,
    ...POLICY,
    ...(open.model && { model: open.model }),
    developerInstructions: withSandboxLine(UNATTENDED, { open, more: appendPrompt }),
  }
  const opened = ThreadOpened.parse(await requestThread(connection, { open, about, signal }))
  if (opened.approvalPolicy !== POLICY.approvalPolicy || opened.approvalsReviewer !== POLICY.approvalsReviewer)
    throw new Error(
      `it does not ask about everything, though it was told to (${JSON.stringify(opened.approvalPolicy)})`,
    )
  if (!isNarrowEnough(opened.sandbox, { sandbox, writable: [temp, open.cwd] }))
    throw new Error(`its sandbox is ${JSON.stringify(opened.sandbox)}, though it was told ${sandbox}`)
  return { vendorId: opened.thread.id, model: opened.model, version, rollout: opened.thread.path ?? undefined }
}

/** Whether the sandbox that is in force, of a new or an old conversation, is no wider than requested. */
function isNarrowEnough(
  { type, networkAccess, writableRoots = [], excludeSlashTmp, excludeTmpdirEnvVar }: ThreadOpened['sandbox'],
  requested: { sandbox: 'read-only' | 'workspace-write'; writable: string[] },
): boolean {
  if (networkAccess !== false) return false
  if (requested.sandbox === 'read-only') return type === 'readOnly'
  const excludesTemp = excludeSlashTmp === true && excludeTmpdirEnvVar === true
  return type === 'workspaceWrite' && excludesTemp && writableRoots.every(root => requested.writable.includes(root))
}

async function initialize(connection: CodexConnection, signal: AbortSignal): Promise<string | undefined> {
  const clientInfo = { name: 'perpetualcc', title: 'PerpetualCC', version: '1' }
  const capabilities = {
    experimentalApi: true,
    requestAttestation: false,
    optOutNotificationMethods: IGNORED_NOTIFICATIONS,
  }
  const answer = await connection.request('initialize', { clientInfo, capabilities }, signal)
  const initialized = Initialized.safeParse(answer).data
  if (!initialized) throw new Error('its answer to initialize was not understood')
  connection.notify('initialized')
  return /^[^/]*\/(\d[\w.-]*)/.exec(initialized.userAgent)?.[1]
}

async function requestThread(
  connection: CodexConnection,
  { open, about, signal }: { open: OpenSession; about: object; signal: AbortSignal },
): Promise<unknown> {
  const { resume, ownTools = [] } = open
  if (resume) {
    const { vendorId: threadId, fork } = resume
    const past = { ...about, threadId, excludeTurns: true }
    return connection.request(fork ? 'thread/fork' : 'thread/resume', past, signal)
  }
  const dynamicTools = ownTools.length > 0 ? [describeOwnTools(ownTools)] : []
  return connection.request('thread/start', { ...about, dynamicTools, experimentalRawEvents: true }, signal)
}

/** Our tools, which Codex calls through us. A resumed conversation has the tools with which it began. */
function describeOwnTools(names: readonly AgentToolName[]) {
  const tools = names.map(name => {
    const { description, shape } = AGENT_TOOLS[name]
    const inputSchema = z.toJSONSchema(z.strictObject(shape), { io: 'input' })
    return { type: 'function', name, description, inputSchema }
  })
  return { type: 'namespace', name: OWN_SERVER, description: 'The supervisor that you work for.', tools }
}

/** Added after Codex's own instructions: the differences from a person at a keyboard. */
const UNATTENDED = `You work unattended under a supervisor, perhaps for hours, and nobody reads along.
- Do the whole task. Do not stop to ask whether to go on; decide small things by yourself and say what you assumed.
- Ask with request_user_input only when a wrong guess would be costly, and put the option that you would take first.
- Every command and every change of a file is judged before it happens. A refusal is final: read the reason, take the way round that it names or another safe one, and do not try the same thing in other words.
- Ask to run outside of the sandbox only where the work cannot be done inside it, and say why.
- Keep a plan with update_plan when the work has more than a few steps, so that the supervisor can see where you are.
- Wait for what you start; processes you leave behind are ended.
- When you are done, report in a few lines: what changed, what you ran to check it and what came out, what is left or was refused. Claim only what you have seen. Your report is checked.`

/** The person's own settings that apply: the model, its provider, and the login. */
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
/** Folders that stay in the person's own home, so that a person can continue our conversations by hand. */
const SHARED_FOLDERS = ['sessions', 'archived_sessions', 'thread-writer-locks']
/** Codex writes a renewed login through the link, and only one process at a time may do that. */
const SHARED_FILES = ['auth.json', 'auth.lock']
/** What Codex would run or obey, and never gets from us. */
const OBEYED = [
  'rules',
  'hooks',
  'hooks.json',
  'prompts',
  'plugins',
  'agents',
  '.env',
  'requirements.toml',
  'managed_config.toml',
]
/** The person's instructions for every Codex. */
const INSTRUCTIONS = ['AGENTS.md', 'AGENTS.override.md', 'skills']

export interface CodexHome {
  /** The person's own home, where conversations are kept. */
  own: string
  /** The home that Codex gets. */
  given: string
  /** What a sandbox has to show of the person's home, and what Codex writes. */
  read: string[]
  written: string[]
}

/** Codex's home folder for a process with this environment. */
export function codexHome(env: Record<string, string | undefined>): string {
  return env['CODEX_HOME'] || join(env['HOME'] || homedir(), '.codex')
}

/**
 * Creates a second home in which Codex finds the login, the conversations and the choice of a model, and nothing else. In the person's own
 * home it would find rules that let commands run without an ask, hooks that answer in our place, and servers whose resources it reads
 * without an ask; no switch turns these off. Codex also writes into its settings: here it writes into a copy. Each project has one of its own:
 * what an agent writes there, hooks and servers too, would be obeyed by the Codex of another project that starts in that moment.
 */
export async function prepareHome(
  env: Record<string, string>,
  settings: { user: boolean; project: string },
): Promise<CodexHome> {
  const own = codexHome(env)
  const given = join(own, 'pcc', createHash('sha256').update(settings.project).digest('hex').slice(0, 16))
  try {
    await mkdir(given, { recursive: true, mode: 0o700 })
    for (const name of SHARED_FOLDERS) {
      await mkdir(join(own, name), { recursive: true })
      await link(given, name)
    }
    for (const name of SHARED_FILES) await link(given, name)
    // An earlier agent of another project may have left them.
    for (const name of OBEYED) await removeInside(given, name)
    for (const name of INSTRUCTIONS) {
      const isShared = settings.user && (await exists(join(own, name)))
      await (isShared ? link(given, name) : removeInside(given, name))
    }
    await replaceFile(join(given, 'config.toml'), await readCopiedSettings(join(own, 'config.toml')))
  } catch (error) {
    throw agentMissingError(codexAgent, `its folder ${own} cannot be prepared: ${messageOf(error)}`, error)
  }
  const inOwn = (names: string[]) => names.map(name => join(own, name))
  return { own, given, read: inOwn(INSTRUCTIONS), written: [given, ...inOwn([...SHARED_FOLDERS, ...SHARED_FILES])] }
}

async function readCopiedSettings(file: string): Promise<string> {
  const all = parse((await readTextIfAny(file)) ?? '')
  const profile = chosenProfile(all)
  return stringify({ ...pickSettings(all), ...(profile && pickSettings(profile)) })
}

/** The profile that the person's settings name overrides the rest of them. */
function chosenProfile({ profile, profiles }: TomlTable): TomlTable | undefined {
  if (typeof profile !== 'string' || !isTable(profiles)) return undefined
  const chosen = profiles[profile]
  return isTable(chosen) ? chosen : undefined
}

function pickSettings(settings: TomlTable): TomlTable {
  return Object.fromEntries(COPIED_SETTINGS.flatMap(key => (settings[key] === undefined ? [] : [[key, settings[key]]])))
}

/** The way from a given home to the person's own. */
const TO_OWN = '../..'

async function link(folder: string, name: string): Promise<void> {
  const path = join(folder, name)
  const existing = await lstat(path).catch(() => undefined)
  // An earlier agent may have made one that leads elsewhere.
  if (existing?.isSymbolicLink() && (await readlink(path)) === join(TO_OWN, name)) return
  // Codex created its own before there was one to share.
  if (existing) await removeInside(folder, name)
  await symlink(join(TO_OWN, name), path).catch(error => {
    // Another session was faster.
    if (error.code !== 'EEXIST') throw error
  })
}

async function exists(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined)) !== undefined
}

/** Replaces the file atomically, because another session may be reading it. */
async function replaceFile(file: string, text: string): Promise<void> {
  const next = `${file}.${secretId(6)}`
  await writeFile(next, text, { mode: 0o600 })
  await rename(next, file)
}
