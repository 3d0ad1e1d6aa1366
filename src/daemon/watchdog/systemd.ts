import type { Log } from '../../base/log.ts'
import { problemOf, runInThisProcess } from '../../base/process/run-short.ts'

export interface Systemd extends Disposable {
  /** Sends READY=1, and from then on a heartbeat at half the interval that systemd allows. */
  ready(): Promise<void>
  stopping(): Promise<void>
}

/** A call takes milliseconds; systemd itself may be busy. */
const PATIENCE_MS = 10_000

/**
 * Talks to systemd if the unit asks for it (`Type=notify`, `WatchdogSec=`; NotifyAccess=all). Node has no Unix datagram
 * sockets, so `systemd-notify` sends the messages. Heartbeats come from the event loop: a loop that hangs sends none.
 */
export function openSystemd(env: Record<string, string | undefined>, log: Log): Systemd {
  let timer: NodeJS.Timeout | undefined
  const send = (...words: string[]) => (env['NOTIFY_SOCKET'] ? notify(words, env, log) : Promise.resolve())
  return {
    async ready() {
      await send('READY=1', `MAINPID=${process.pid}`)
      const everyMs = halfOfWatchdog(env)
      if (everyMs !== undefined) timer = setInterval(() => void send('WATCHDOG=1'), everyMs).unref()
    },
    stopping: () => send('STOPPING=1'),
    [Symbol.dispose]: () => clearInterval(timer),
  }
}

function halfOfWatchdog(env: Record<string, string | undefined>): number | undefined {
  const micros = Number(env['WATCHDOG_USEC'])
  const isForUs = !env['WATCHDOG_PID'] || Number(env['WATCHDOG_PID']) === process.pid
  return env['NOTIFY_SOCKET'] && isForUs && micros > 0 ? micros / 2000 : undefined
}

/** Not through the fork server: the heartbeats would keep its 45 MB forever. */
async function notify(words: string[], env: Record<string, string | undefined>, log: Log): Promise<void> {
  const limits = { timeoutMs: PATIENCE_MS, maxBytes: 100_000 }
  const result = await runInThisProcess({
    command: 'systemd-notify',
    args: words,
    cwd: '/',
    env: notifyEnv(env),
    ...limits,
  })
  const problem = problemOf(result)
  if (problem !== undefined) log.warn({ problem, stderr: result.stderr, words }, 'systemd could not be told')
}

function notifyEnv({ NOTIFY_SOCKET, PATH }: Record<string, string | undefined>): Record<string, string> {
  return { ...(NOTIFY_SOCKET && { NOTIFY_SOCKET }), PATH: PATH ?? '/usr/bin:/bin' }
}
