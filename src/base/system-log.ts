import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { type OwnProcess, startReader } from './process/own-process.ts'

/** The logs of one daemon, which stay apart by the name of the program in each message. */
export type LogName = 'daemon' | 'access' | 'agents'

/** Copies lines of our logs to the system's log, or to another machine's. */
export interface SystemLog extends AsyncDisposable {
  /** What takes the lines of one of our logs. It never waits and never fails. */
  copyFor(name: LogName): (line: string) => void
}

export interface SystemLogDeps {
  /** Finds a program of the system. */
  find(program: 'logger' | 'systemd-cat'): string | undefined
  /** Called once when lines begin to get lost, with the cause. */
  failed(problem: string): void
}

/** What is kept for a receiver that is away or slow; later lines are lost, because the files have them all. */
const MOST_WAITING_BYTES = 1_000_000
/** A datagram holds no more; what is longer is cut. */
const MOST_DATAGRAM_BYTES = 60_000
const AGAIN_MS = 1_000
/** The last lines of a daemon that ends may take this long. */
const LAST_LINES_MS = 2_000
/** The facility of daemons. */
const DAEMON = 3
const SEVERITY: Record<string, number> = { error: 3, warn: 4, info: 6, debug: 7 }

/** A way to a log; `send` returns false if the line is lost. */
interface Way {
  send(line: string, name: LogName): boolean
  /** Resolves when everything is sent. */
  close(): Promise<unknown>
}

/**
 * Opens the way to a log: `journald`, `unix:///dev/log`, `udp://127.0.0.1:514` or `tcp://127.0.0.1:601`. Nothing is connected or
 * started before the first line.
 */
export function openSystemLog(target: string, deps: SystemLogDeps): SystemLog {
  let isLosing = false
  const lose = (problem: string) => {
    if (isLosing) return
    isLosing = true
    // What is logged about it goes this way too, and must not be lost anew.
    deps.failed(problem)
    isLosing = true
  }
  const way = openWay(target, { ...deps, failed: lose })
  return {
    copyFor: name => line => {
      const isSent = way.send(line.trimEnd(), name)
      if (isSent) isLosing = false
      else lose(`${target} does not take them`)
    },
    async [Symbol.asyncDispose]() {
      const closed = way.close().catch(() => {})
      await Promise.race([closed, sleep(LAST_LINES_MS, undefined, { ref: false })])
    },
  }
}

function openWay(target: string, deps: SystemLogDeps): Way {
  if (target === 'journald') {
    const start = (name: LogName) => startProgram('systemd-cat', ['-t', `pcc-${name}`], deps)
    return openPrograms(start, severity => severity)
  }
  const { protocol, hostname: host, port, pathname } = new URL(target)
  const to = { host: host.replace(/^\[|\]$/g, ''), port: Number(port) }
  if (protocol === 'udp:') return openDatagrams(to, deps)
  if (protocol === 'tcp:') return openConnection(to, deps)
  const socket = ['--socket', decodeURIComponent(pathname), '--prio-prefix', '--id']
  const start = (name: LogName) => startProgram('logger', [...socket, '--tag', `pcc-${name}`], deps)
  return openPrograms(start, severity => DAEMON * 8 + severity)
}

function severityOf(line: string): number {
  return SEVERITY[/"level":"(\w+)"/.exec(line)?.[1] ?? 'info'] ?? 6
}

/** A message of RFC 5424. */
function toMessage(line: string, name: LogName): string {
  const time = /"time":"([^"]+)"/.exec(line)?.[1] ?? '-'
  const host = hostname().replace(/[^\x21-\x7e]/g, '-') || '-'
  return `<${DAEMON * 8 + severityOf(line)}>1 ${time} ${host} pcc-${name} ${process.pid} - - ${line}`
}

type Address = { host: string; port: number }

function openDatagrams({ host, port }: Address, { failed }: SystemLogDeps): Way {
  const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4')
  socket.on('error', error => failed(error.message)).unref()
  let last = Promise.resolve()
  return {
    send(line, name) {
      const message = Buffer.from(toMessage(line, name)).subarray(0, MOST_DATAGRAM_BYTES)
      const sent = Promise.withResolvers<void>()
      last = sent.promise
      socket.send(message, port, host, error => {
        if (error) failed(error.message)
        sent.resolve()
      })
      return true
    },
    close: () => last.then(() => socket.close()),
  }
}

/** Messages over TCP, each after its length (RFC 6587). A lost connection is made again with a later line. */
function openConnection({ host, port }: Address, { failed }: SystemLogDeps): Way {
  let socket: Socket | undefined
  let triedAt = Number.NEGATIVE_INFINITY
  const open = (): Socket | undefined => {
    if (socket && !socket.destroyed) return socket
    if (performance.now() - triedAt < AGAIN_MS) return undefined
    triedAt = performance.now()
    socket = connect({ host, port })
    socket.on('error', error => failed(error.message)).unref()
    socket.resume() // it says nothing, and its end would not be seen otherwise
    return socket
  }
  return {
    send(line, name) {
      const connection = open()
      if (!connection || connection.writableLength > MOST_WAITING_BYTES) return false
      const message = Buffer.from(toMessage(line, name))
      connection.write(Buffer.concat([Buffer.from(`${message.length} `), message]))
      return true
    },
    async close() {
      if (!socket || socket.destroyed) return
      const closed = once(socket, 'close')
      socket.ref().destroySoon()
      await closed
    },
  }
}

/** Node has no Unix datagrams, so a program of the system sends them: one for each of our logs, which reads lines until the daemon ends. */
function openPrograms(start: (name: LogName) => OwnProcess | undefined, priority: (severity: number) => number): Way {
  const programs = new Map<LogName, { child: OwnProcess | undefined; at: number }>()
  const runningFor = (name: LogName): OwnProcess | undefined => {
    const known = programs.get(name)
    const isRunning = known?.child && known.child.exitCode === null && known.child.signalCode === null
    if (isRunning) return known.child
    if (known && performance.now() - known.at < AGAIN_MS) return undefined
    const child = start(name)
    programs.set(name, { child, at: performance.now() })
    return child
  }
  return {
    send(line, name) {
      const input = runningFor(name)?.stdin
      if (!input?.writable || input.writableLength > MOST_WAITING_BYTES) return false
      input.write(`<${priority(severityOf(line))}>${line}\n`)
      return true
    },
    close: () => Promise.all([...programs.values()].map(({ child }) => endProgram(child))),
  }
}

async function endProgram(child: OwnProcess | undefined): Promise<void> {
  if (!child || child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.ref()
  child.stdin?.end()
  await ended
}

function startProgram(
  name: 'logger' | 'systemd-cat',
  args: readonly string[],
  { find, failed }: SystemLogDeps,
): OwnProcess | undefined {
  const program = find(name)
  if (program === undefined) {
    failed(`the program ${name} is missing`)
    return undefined
  }
  const child = startReader(program, args)
  const lost = (problem: string) => failed(`${name}: ${problem}`)
  child.on('error', error => lost(error.message)).on('exit', code => code && lost(`it ended with ${code}`))
  child.stdin?.on('error', () => {}) // its end says why
  child.unref()
  return child
}
