import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { basename } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

export interface SeenProcess {
  pid: number
  parent: number
  /** The start time in ticks since boot; together with the pid it identifies the process. */
  born: string
  cwd: string
  command: string
}

/** Every living process that works below a folder or has it in its environment; zombies do not count. */
export function processesOf(folder: string): SeenProcess[] {
  return pids().flatMap(pid => {
    const seen = look(pid)
    return seen && (isBelow(seen.cwd, folder) || environmentOf(pid).includes(`=${folder}`)) ? [seen] : []
  })
}

/** The agents that work below a folder: the vendor's program itself, not its children. */
export function agentsOf(folder: string): SeenProcess[] {
  return pids().flatMap(pid => {
    // This runs all the time on a machine with many processes, so most of them are read only once.
    if (!isBelow(directoryOf(pid), folder)) return []
    const seen = look(pid)
    return seen && isAgent(seen) ? [seen] : []
  })
}

/** The running tools below a folder: shells that run the script of a round. */
export function toolsOf(folder: string): SeenProcess[] {
  return pids().flatMap(pid => {
    const seen = isBelow(directoryOf(pid), folder) ? look(pid) : undefined
    return seen && /^sh work\.sh /.test(seen.command) ? [seen] : []
  })
}

/** Whether a process with this pid exists; zombies do not count. */
export function isThere(pid: number): boolean {
  return look(pid) !== undefined
}

export function isSame({ pid, born }: SeenProcess): boolean {
  return look(pid)?.born === born
}

/** Records whether two agents worked in one directory at the same time; each session has its own directory. */
export interface AgentWatch extends AsyncDisposable {
  /** Directories in which two agents were seen at once, in two polls in a row. */
  readonly doubles: Map<string, string>
}

const LOOK_MS = 60

/** Polls the process table all the time. */
export function watchAgents(folder: string): AgentWatch {
  const doubles = new Map<string, string>()
  const stop = new AbortController()
  let before = new Set<string>()
  const done = (async () => {
    while (!stop.signal.aborted) {
      const pairs = pairsIn(agentsOf(folder))
      for (const [key, told] of pairs) if (before.has(key)) doubles.set(told.cwd, told.text)
      before = new Set(pairs.keys())
      await sleep(LOOK_MS, undefined, { signal: stop.signal }).catch(() => undefined)
    }
  })()
  return {
    doubles,
    async [Symbol.asyncDispose]() {
      stop.abort()
      await done
    },
  }
}

/** A child between fork and exec looks like its parent, so descendants of an agent do not count as agents. */
function pairsIn(agents: SeenProcess[]): Map<string, { cwd: string; text: string }> {
  const found = new Map<string, { cwd: string; text: string }>()
  const own = agents.filter(({ parent }) => !agents.some(({ pid }) => pid === parent))
  for (const [cwd, here] of Map.groupBy(own, agent => agent.cwd)) {
    if (here.length < 2) continue
    const key = here
      .map(({ pid, born }) => `${pid}/${born}`)
      .sort()
      .join(' ')
    found.set(key, {
      cwd,
      text: `${here.length} agents at once in ${basename(cwd)}: ${here.map(({ pid }) => pid).join(', ')}`,
    })
  }
  return found
}

/** A wrapper has the same arguments, but is another program. */
function isAgent({ pid, command }: SeenProcess): boolean {
  return command.includes('--input-format stream-json') && basename(programOf(pid)) === 'claude'
}

function programOf(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/exe`)
  } catch {
    return '' // the process has just ended
  }
}

function look(pid: number): SeenProcess | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const [state, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    if (state === 'Z' || state === 'X') return undefined
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').join(' ').trim()
    return { pid, parent: Number(rest[0]), born: rest[18] ?? '', cwd: directoryOf(pid), command }
  } catch {
    return undefined // the process has just ended
  }
}

function directoryOf(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`)
  } catch {
    return '' // the process has just ended
  }
}

function environmentOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8')
  } catch {
    return ''
  }
}

function isBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`)
}

function pids(): number[] {
  return readdirSync('/proc').flatMap(name =>
    /^\d+$/.test(name) && Number(name) !== process.pid ? [Number(name)] : [],
  )
}
