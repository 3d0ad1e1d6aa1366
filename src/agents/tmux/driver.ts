import { accessSync, constants } from 'node:fs'
import { dirname } from 'node:path'
import { AppError, messageOf } from '../../base/errors.ts'
import { isUuid, secretId } from '../../base/ids.ts'
import { sessionMarker } from '../../base/process/marker.ts'
import { rawStartTime } from '../../base/process/process-table.ts'
import { sweepMarked } from '../../base/process/sweep.ts'
import { plantableFile } from '../../base/sandbox/git.ts'
import { adoptSandbox, type Sandbox } from '../../base/sandbox/sandbox.ts'
import type { SandboxSettings } from '../../base/sandbox/settings.ts'
import { claudeAgent } from '../../domain/agents/claude.ts'
import { agentMissingError } from '../../domain/agents/find-manifest.ts'
import type { Driver, OpenSession } from '../../domain/session.ts'
import type { DriverOptions } from '../agent-process.ts'
import { isReadOnlySession, openAgentSandbox } from '../agent-sandbox.ts'
import { ASK_DEADLINE_MS } from '../checked-asks.ts'
import { bundledProgram } from '../claude/bundled-program.ts'
import { appendedPrompt, pinnedVariables, plannerVariables } from '../claude/options.ts'
import { readTranscriptState } from '../claude/past-sessions.ts'
import type { SessionEndpoint } from '../own-tools-server.ts'
import { AgentWindow, isSameProcess } from './agent-window.ts'
import { createTools, hookSettings, mcpConfig, prepareConfig, restoreTools, startCommand } from './launch.ts'
import { TmuxSession } from './session.ts'
import { type HookAddress, TmuxSessionFolder } from './session-folder.ts'
import { type NewWindow, Tmux, type TmuxWindow, tmuxSocket } from './tmux.ts'

/** A restarted daemon is back within this time; then the call is judged as if nothing had happened. */
const AWAY_MS = 20_000
/** Our hook answers within half a second, or a few seconds on a busy machine. */
const DIALOG_MS = 10_000

/** The connection between agents in tmux and the daemon. */
export interface TmuxHost {
  /** The daemon's folder for runtime files. */
  run: string
  /** The daemon's own socket, which tmux's is beside. */
  socket: string
  /** The daemon's environment: tmux is found through it. */
  env: Record<string, string | undefined>
}

/** Drives the interactive Claude Code in a tmux window: a person can watch it, type into it, and hand it back. */
export function tmuxDriver(
  host: TmuxHost,
  driver: DriverOptions & { awayMs?: number; dialogMs?: number } = {},
): Driver {
  const { askDeadlineMs = ASK_DEADLINE_MS, awayMs = AWAY_MS, dialogMs = DIALOG_MS, log = () => undefined } = driver
  const tmux = new Tmux(tmuxSocket(host.socket), host.env)
  tmux.check()
  const begin = async (open: OpenSession, folder: TmuxSessionFolder) => {
    const executable = findExecutable(driver.executable)
    accessSync(open.cwd) // tmux would start in another folder
    await checkConversation(open)
    const address = folder.create({ session: open.id, awayMs })
    const vendorId = open.resume && !open.resume.fork ? open.resume.vendorId : crypto.randomUUID()
    const marker = open.marker ?? secretId(16)
    const layer = prepareConfig(folder, open)
    const sandbox = openWindowSandbox({ ...open, env: { ...open.env, ...layer.env } }, folder, log)
    const pinned = (sources: OpenSession['settingSources']) =>
      pinnedVariables({ ...open, settingSources: sources }, sessionMarker(marker))
    const settings = hookSettings({ folder: folder.path, askDeadlineMs, env: pinned(open.settingSources) })
    const tools = createTools(open, folder, address)
    const command = startCommand(folder, {
      ...{ executable, sandbox, shows: [dirname(address.socket)], plantable: plantableFile(open.sandbox?.git) },
      ...{ open, vendorId, appendPrompt: appendedPrompt(driver.appendPrompt, open) },
      settings: folder.write('settings.json', JSON.stringify(settings)),
      mcpConfig: tools && folder.write('mcp.json', JSON.stringify(mcpConfig(tools, folder))),
      env: { ...open.env, ...layer.env, ...IN_TERMINAL, ...plannerVariables(open.env), ...pinned([]) },
      marker: sessionMarker(marker),
    })
    const { pane, pid } = await openSingleWindow(tmux, { name: open.id, command }, { marker, folder })
    const at = {
      pane,
      pid,
      born: rawStartTime(pid) ?? '',
      vendorId,
      config: sandbox?.agentFolder ?? layer.directory,
      sandboxed: sandbox !== undefined,
      marker,
    }
    const window = new AgentWindow(open.id, { tmux, folder, saved: { ...FRESH, ...at }, sandbox })
    window.update({})
    log(`session ${open.id}: window ${pane} of ${tmux.socket}`)
    return { window, adopted: false, address, tools }
  }
  return {
    agent: 'claude',
    isVendorId: isUuid,
    conversationState: (vendorId, { cwd, env }) => readTranscriptState({ vendorId, cwd, env }),
    async open(open) {
      const folder = new TmuxSessionFolder(host.run, open.id)
      return new TmuxSession(open, {
        folder,
        askDeadlineMs,
        dialogMs,
        window: async () => (await adoptWindow(open, folder, { tmux, log })) ?? begin(open, folder),
      })
    },
    // The person would see a window that nobody asked for yet.
    warm: async () => undefined,
    cool: async () => undefined,
    close: async () => undefined,
  }
}

/** The sandbox of a window. It may outlive the daemon, like the window: its folders are those of the session. */
function openWindowSandbox(
  open: OpenSession,
  folder: TmuxSessionFolder,
  log: (line: string) => void,
): Sandbox | undefined {
  const sandbox = open.sandbox && { ...open.sandbox, scratch: folder.box }
  return openAgentSandbox(claudeAgent.sandbox, { ...open, sandbox }, line => log(`session ${open.id}: ${line}`))
}

function adoptWindowSandbox(
  open: OpenSession & { sandbox: SandboxSettings },
  folder: TmuxSessionFolder,
  log: (line: string) => void,
) {
  return adoptSandbox(
    { ...open.sandbox, scratch: folder.box },
    { reading: isReadOnlySession(open), log: line => log(`session ${open.id}: ${line}`) },
  )
}

/** The window that an earlier daemon left, if it is in the wanted conversation; any other window is ended. */
async function adoptWindow(
  open: OpenSession,
  folder: TmuxSessionFolder,
  { tmux, log }: { tmux: Tmux; log: (line: string) => void },
) {
  const [saved, address] = [folder.state(), folder.hookAddress()]
  if (!saved || !address || !isSameProcess(saved)) return undefined
  const isWanted = open.resume?.vendorId === saved.vendorId && !open.resume.fork
  if (isWanted) {
    const sandbox =
      saved.sandboxed && open.sandbox && adoptWindowSandbox({ ...open, sandbox: open.sandbox }, folder, log)
    const window = new AgentWindow(open.id, { tmux, folder, saved, ...(sandbox && { sandbox }) })
    const tools = restoreTools(open, folder)
    return { window, adopted: true, address: ownAddress(folder, address, tools?.endpoint), tools }
  }
  await tmux.close(open.id)
  await sweepMarked(sessionMarker(saved.marker))
  return undefined
}

/** The address of a window that an earlier version started: its hooks called the daemon's own socket, its tools another one. */
function ownAddress(folder: TmuxSessionFolder, address: HookAddress, tools: SessionEndpoint | undefined): HookAddress {
  const { socket, token } = tools ?? address
  return socket === address.socket ? address : folder.saveAddress({ ...address, socket, token })
}

interface SingleWindow {
  marker: string
  folder: TmuxSessionFolder
}

/**
 * Opens the only window with this name. A tmux server that does not answer may have opened the window all the same, or may open it
 * later: without its script nothing starts in it, and what has started is ended.
 */
async function openSingleWindow(tmux: Tmux, window: NewWindow, { marker, folder }: SingleWindow): Promise<TmuxWindow> {
  await tmux.close(window.name)
  try {
    return await tmux.open(window)
  } catch (error) {
    folder.remove()
    await tmux.close(window.name)
    const { left } = await sweepMarked(sessionMarker(marker))
    if (left.length === 0) throw error
    throw new AppError('session_withstood', { id: window.name, pids: left.map(({ pid }) => pid).join(' ') }, error)
  }
}

/** The interactive Claude Code shows a list and waits when it is asked to resume an unknown conversation. */
async function checkConversation({ resume, cwd, env }: OpenSession): Promise<void> {
  if (!resume) return
  const state = isUuid(resume.vendorId) ? await readTranscriptState({ vendorId: resume.vendorId, cwd, env }) : 'missing'
  if (state !== 'intact') throw new AppError('resume_missing', { vendor_id: resume.vendorId, state })
}

function findExecutable(executable: string | undefined): string {
  const program = executable ?? bundledProgram()
  try {
    accessSync(program, constants.X_OK)
  } catch (error) {
    throw agentMissingError(claudeAgent, messageOf(error), error)
  }
  return program
}

const FRESH = { model: '', offset: 0, takenOver: false, working: false, owed: false, allowed: [] }

/** Variables that the interactive Claude Code needs beside those of the library's. */
const IN_TERMINAL = {
  TERM: 'xterm-256color',
  /** Otherwise it would ask whether to compact a long conversation first. */
  CLAUDE_CODE_RESUME_TOKEN_THRESHOLD: '1000000000',
  /** Our own server starts within a second; on a busy machine it takes many. */
  MCP_CONNECT_TIMEOUT_MS: '60000',
  MCP_TIMEOUT: '60000',
}
