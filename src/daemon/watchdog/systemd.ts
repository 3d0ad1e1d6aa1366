import { execFile } from 'node:child_process'
import type { Log } from '../../base/log.ts'

export interface Systemd extends Disposable {
  /** READY=1, and from now on a sign of life at half the time that systemd allows. */
  ready(): Promise<void>
  stopping(): Promise<void>
}

/** A call takes milliseconds; systemd itself may be busy. */
const PATIENCE_MS = 10_000

/**
 * Talks to systemd where it has asked for that (`Type=notify`, `WatchdogSec=`; NotifyAccess=all). Node has no Unix datagram
 * sockets, so `systemd-notify` carries the words. Signs of life come from the event loop: one that stands still gives none.
 */
export function openSystemd(env: Record<string, string | undefined>, log: Log): Systemd {
  let timer: NodeJS.Timeout | undefined
  const say = (...words: string[]) => (env['NOTIFY_SOCKET'] ? tell(words, env, log) : Promise.resolve())
  return {
    async ready() {
      await say('READY=1', `MAINPID=${process.pid}`)
      const everyMs = halfOfWatchdog(env)
      if (everyMs !== undefined) timer = setInterval(() => void say('WATCHDOG=1'), everyMs).unref()
    },
    stopping: () => say('STOPPING=1'),
    [Symbol.dispose]: () => clearInterval(timer),
  }
}

function halfOfWatchdog(env: Record<string, string | undefined>): number | undefined {
  const micros = Number(env['WATCHDOG_USEC'])
  const isForUs = !env['WATCHDOG_PID'] || Number(env['WATCHDOG_PID']) === process.pid
  return env['NOTIFY_SOCKET'] && isForUs && micros > 0 ? micros / 2000 : undefined
}

function tell(words: string[], env: Record<string, string | undefined>, log: Log): Promise<void> {
  return new Promise(resolve => {
    execFile('systemd-notify', words, { env: definedOf(env), timeout: PATIENCE_MS }, error => {
      if (error) log.warn({ error, words }, 'systemd could not be told')
      resolve()
    })
  })
}

function definedOf({ NOTIFY_SOCKET, PATH }: Record<string, string | undefined>): Record<string, string> {
  return { ...(NOTIFY_SOCKET && { NOTIFY_SOCKET }), PATH: PATH ?? '/usr/bin:/bin' }
}
