import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Places } from '../../../src/base/places.ts'

const SCRIPT = fileURLToPath(new URL('../../../test/daemon/run-daemon.ts', import.meta.url))
/** A start from source on a busy machine; beyond this it hangs. */
const START_MS = 30_000
const CALL_MS = 10_000

export interface Boot {
  pid: number
  at: number
  endedAt?: number
  /** It killed itself: at the step that it was told. */
  crashed?: boolean
}

interface Started {
  child: ChildProcess
  boot: Boot
  /** What it said: ready, or why not; nothing where it died first. */
  line: { ready: true } | { error: { code: string; message: string } } | undefined
}

export interface KeeperOptions {
  places: Places
  env: Record<string, string>
  /** What each boot gets besides, by its number: a crash point is for one of them. */
  envOfBoot(boot: number): Record<string, string>
}

/** A daemon that says so and does not start on a full disk does what it should; it is started again when there is room. */
export function isOfFullDisk(told: string): boolean {
  return /disk is full/.test(told)
}

/** Keeps a daemon alive the way the command line does: whoever finds none starts one. */
export class DaemonKeeper {
  readonly boots: Boot[] = []
  /** What starting told that it should not have. */
  readonly complaints: string[] = []
  /** Where two daemons ran at once. */
  readonly doubles: string[] = []
  /** Where a daemon's end was not that of its agents. */
  readonly orphans: string[] = []
  readonly #options: KeeperOptions
  #child: ChildProcess | undefined
  #starting: Promise<void> | undefined
  #held = false
  readonly #killed = new WeakSet<ChildProcess>()

  constructor(options: KeeperOptions) {
    this.#options = options
  }

  get pid(): number | undefined {
    return this.alive ? this.#child?.pid : undefined
  }

  get alive(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** Resolves when a daemon is ready. One that dies while it starts is started again, a few times. */
  async up(): Promise<void> {
    if (this.alive || this.#held) return
    this.#starting ??= this.#start().finally(() => {
      this.#starting = undefined
    })
    await this.#starting
  }

  /** Nobody starts one while this runs: somebody works on the files of a dead daemon. */
  async whileDown(work: () => Promise<void> | void): Promise<void> {
    this.#held = true
    try {
      await this.#starting
      await this.kill('SIGKILL')
      await work()
    } finally {
      this.#held = false
    }
    await this.up()
  }

  /** Ends it and waits until it is gone. */
  async kill(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const child = this.#child
    if (!child || !this.alive) return
    const gone = once(child, 'exit')
    this.#killed.add(child)
    child.kill(signal)
    if (signal === 'SIGTERM') child.kill('SIGCONT')
    await gone
  }

  /** Kills it and starts two at once on one data directory: one must win, and the other must say why it leaves. */
  async replaceByTwo(): Promise<void> {
    this.#held = true
    try {
      await this.#starting
      await this.kill('SIGKILL')
      await this.#startTwo()
    } finally {
      this.#held = false
    }
    await this.up()
  }

  async call<Body>(method: string, path: string, body?: unknown): Promise<{ status: number; body: Body }> {
    const { socket, tokenFile } = this.#options.places
    const headers = {
      host: 'pcc',
      authorization: `Bearer ${readFileSync(tokenFile, 'utf8').trim()}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    }
    const signal = AbortSignal.timeout(CALL_MS)
    const asked = request({ socketPath: socket, method, path, headers, agent: false, signal })
    asked.end(body === undefined ? undefined : JSON.stringify(body))
    const [response] = (await once(asked, 'response')) as [IncomingMessage]
    let text = ''
    for await (const chunk of response) text += String(chunk)
    return { status: response.statusCode ?? 0, body: JSON.parse(text) as Body }
  }

  async #start(): Promise<void> {
    for (let tries = 0; tries < 5; tries++) {
      const { child, line } = await this.#spawn()
      this.#child = child
      if (line && 'ready' in line) return
      if (line && 'error' in line)
        throw new Error(`the daemon does not start: ${line.error.code} ${line.error.message}`)
    }
    throw new Error('the daemon died five times in a row while it started')
  }

  async #startTwo(): Promise<void> {
    const two = await Promise.all([this.#spawn(), this.#spawn()])
    const ready = two.filter(({ line }) => line && 'ready' in line)
    // The lock is what one of them must meet: whatever else stopped it came too late. A full disk stops both of them there.
    for (const { line } of two) {
      if (!line || 'ready' in line || line.error.code === 'daemon_running' || isOfFullDisk(line.error.message)) continue
      this.doubles.push(line.error.message)
    }
    if (ready.length > 1) this.doubles.push('of two daemons started at once both became ready')
    this.#child = ready[0]?.child
    // A second one is a bug, and it is left alive for a moment so that it shows what it does.
    for (const { child } of ready.slice(1)) {
      this.#killed.add(child)
      setTimeout(() => child.kill('SIGKILL'), 3_000).unref()
    }
  }

  async #spawn(): Promise<Started> {
    const { env, envOfBoot } = this.#options
    const bootEnv = { ...env, ...envOfBoot(this.boots.length) }
    const child = spawn(process.execPath, [SCRIPT], { env: bootEnv, cwd: '/', stdio: ['ignore', 'pipe', 'ignore'] })
    const boot: Boot = { pid: child.pid ?? 0, at: Date.now() }
    this.boots.push(boot)
    // Whoever interrupts the runner must not have to look for its daemons.
    const leave = () => void child.kill('SIGKILL')
    process.once('exit', leave)
    child.once('exit', () => {
      boot.endedAt = Date.now()
      boot.crashed = child.signalCode === 'SIGKILL' && !this.#killed.has(child)
      process.off('exit', leave)
    })
    const signal = AbortSignal.timeout(START_MS)
    const lines = createInterface({ input: child.stdout })
    const first = once(lines, 'line', { signal }).then(([line]) => JSON.parse(String(line)) as Started['line'])
    const exited = once(child, 'exit', { signal }).then(() => undefined)
    const line = await Promise.race([first, exited]).catch(() => undefined)
    first.catch(() => undefined)
    exited.catch(() => undefined)
    return { child, boot, line }
  }
}
