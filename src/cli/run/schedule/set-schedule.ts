import { AppError } from '../../../base/errors.ts'
import type { StartRun } from '../../../domain/runs/run.ts'
import { ownZone } from '../../../domain/schedules/own-zone.ts'
import type { ScheduleView, SetSchedule } from '../../../domain/schedules/schedule.ts'
import type { Connection } from '../../connection/connection.ts'
import type { Context } from '../../context.ts'
import { targetText } from '../words.ts'
import { dueText, whenLine } from './lines.ts'

/** When a run is to begin, as it was typed. */
export interface WhenFlags {
  at?: string
  every?: string
  /** Percent. */
  whenQuotaBelow?: number
}

/** Whether the run is one to come. */
export function isScheduled({ at, every, whenQuotaBelow }: WhenFlags): boolean {
  return at !== undefined || every !== undefined || whenQuotaBelow !== undefined
}

/** `pcc run … --at|--every|--when-quota-below`: the run begins by itself at its time; nothing is watched here. */
export async function setSchedule(
  request: StartRun,
  { at, every, whenQuotaBelow }: WhenFlags,
  { client, context }: { client: Connection; context: Pick<Context, 'json' | 'out'> },
): Promise<number> {
  const when: SetSchedule['when'] = {
    zone: ownZone(),
    ...(at !== undefined && { at }),
    ...(every !== undefined && { every }),
    ...(whenQuotaBelow !== undefined && { quota_below: whenQuotaBelow }),
  }
  const set = await client.request<ScheduleView>('POST', '/schedules', { ...request, when })
  const lines = [
    `Scheduled ${set.id}: ${targetText(set)}, ${whenLine(set)}`,
    `It begins ${dueText(set, Date.now())}, as long as the daemon runs; one that comes later begins it then.`,
    `See it with: pcc runs   Take it back with: pcc stop ${set.id}`,
  ]
  for (const line of context.json ? [JSON.stringify(set, null, 2)] : lines) context.out(line)
  return 0
}

/** `pcc stop c-…` */
export async function cancelSchedule(
  id: string,
  { client, context }: { client: Connection; context: Pick<Context, 'json' | 'out'> },
): Promise<void> {
  const over = await client.request<ScheduleView>('POST', `/schedules/${id}/cancel`, {})
  context.out(
    context.json ? JSON.stringify(over, null, 2) : `Taken back: ${over.id} (${targetText(over)}, ${whenLine(over)})`,
  )
}

/** What a person types where a session, a run or a schedule may be meant. */
export function isScheduleId(ref: string): boolean {
  return /^c-[0-9a-f]{1,6}$/.test(ref)
}

/** `50`, `50%` */
export function percentIn(value: string): number {
  const [, digits] = /^(\d{1,3})\s*%?$/.exec(value.trim()) ?? []
  const percent = Number(digits ?? Number.NaN)
  if (percent >= 1 && percent <= 100) return percent
  throw new AppError('usage', {
    problem: `--when-quota-below "${value}": a percentage such as 50% is meant`,
    command: 'run',
  })
}
