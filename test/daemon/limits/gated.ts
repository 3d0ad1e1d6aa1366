import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SessionView } from '../../../src/domain/api.ts'
import type { QuotaView } from '../../../src/domain/quota.ts'
import type { LoggedRequest } from '../../../src/simulator/request-log.ts'
import type { AgentSessions } from '../agent-sessions.ts'
import { type DaemonProcess, viewWhen } from '../daemon-process.ts'

/**
 * A limit that resets this long after it was hit, however slow the machine was until then. The vendor enforces it until `open` is
 * called, so a call that comes too early is refused, and the test sees it.
 */
export function limitFor(duration: string): string {
  return `{ kind: limit, window: five_hour, resets: +${duration}, until_file: "{{cwd}}/open" }`
}

/** Makes the vendor answer again from now on; whether we call before the reset is another matter. */
export function openVendor({ project }: AgentSessions): void {
  writeFileSync(join(project, 'open'), '')
}

/** A tool call that lasts until the file exists. */
export function waitsFor(file: string, then = 'true'): string {
  return `{ Bash: { command: "until [ -e ${file} ]; do sleep 0.1; done; ${then}", description: Work } }`
}

/** The environment of another account: same machine, same person, another token. */
export function otherAccount({ env }: AgentSessions, name: string): Record<string, string> {
  return { ...env, CLAUDE_CODE_OAUTH_TOKEN: `fake-token-of-${name}` }
}

/** When each closed account opens again, in the order in which they were closed. */
export async function closedUntil(daemon: DaemonProcess): Promise<number[]> {
  return (await closings(daemon)).map(({ until }) => until)
}

/** The time span in which each account is closed, from the moment at which we heard of the refusal. */
export async function closings(daemon: DaemonProcess): Promise<Closing[]> {
  const { body } = await daemon.call<QuotaView>('GET', '/quota')
  return body.accounts.flatMap(({ gate }) =>
    gate?.closed_at && gate.closed_until ? { from: gate.closed_at, until: gate.closed_until } : [],
  )
}

export interface Closing {
  from: number
  until: number
}

export function isLimited({ status }: SessionView): boolean {
  return status === 'rate_limited'
}

export function isComplete({ status }: SessionView): boolean {
  return status === 'completed'
}

/** Waits until every one of these sessions has come that far. */
export function all(
  daemon: DaemonProcess,
  ids: string[],
  match: (view: SessionView) => boolean,
): Promise<SessionView[]> {
  return Promise.all(ids.map(id => viewWhen(daemon, id, match)))
}

/**
 * The requests that reached the model while we knew that the account was closed. A request that arrived between the refusal of
 * another one and the moment at which we heard of that was sent before: only requests from that short time can do so.
 */
export function callsWhileClosed(requests: LoggedRequest[], { from, until }: Closing): LoggedRequest[] {
  return requests.filter(({ time }) => time > from && time < until)
}

/** The requests that reached the model after it had refused one, until the given time. */
export function callsAfterRefusal(requests: LoggedRequest[], { until }: Closing): LoggedRequest[] {
  const refused = requests.findIndex(({ response }) => response === 'limit')
  return requests.slice(refused + 1).filter(({ time }) => time < until)
}
