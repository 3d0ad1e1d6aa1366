import { setTimeout as sleep } from 'node:timers/promises'
import * as z from 'zod'
import { readTextIfAny } from '../../base/files.ts'
import { parseJson } from '../../base/json.ts'
import type { AgentManifest } from '../../domain/agent-manifest.ts'
import type { RpcError } from './wire.ts'

type Words = NonNullable<AgentManifest['ownWords']>

/** What an agent says of itself in a message that looks like the model's. */
export function readOwnWords(text: string, words: Words | undefined): 'notice' | 'error' | undefined {
  if (words === undefined) return undefined
  if (new RegExp(words.notices).test(text)) return 'notice'
  return new RegExp(words.errors).test(text) ? 'error' : undefined
}

/** A line of the agent's own record of a conversation. */
const RecordedError = z.object({
  type: z.literal('session.error'),
  timestamp: z.iso.datetime().transform(text => Date.parse(text)),
  data: z.object({ message: z.string(), errorType: z.string().optional(), statusCode: z.number().optional() }),
})

/**
 * The file in which an agent records a conversation; undefined if the id is none that can be the name of a folder. The agent says the id itself,
 * and could lead pcc to read another file.
 */
export function recordOf(record: string, { home, session }: { home: string; session: string }): string | undefined {
  if (!/^[\w][\w.-]{0,199}$/.test(session)) return undefined
  return record.replace('{home}', () => home).replace('{session}', () => session)
}

/** The agent writes its record a moment after its answer. */
const LOOKS = 40
const LOOK_MS = 50
const NO_CODE = -32603

/**
 * The error that the agent recorded since then, as if it had answered with it. The model may say whatever looks like an error, and an
 * error may close the account of every session, so words alone count for nothing.
 */
export async function findRecordedError(file: string, since: number): Promise<RpcError | undefined> {
  for (let look = 0; look < LOOKS; look++) {
    const text = (await readTextIfAny(file).catch(() => undefined)) ?? ''
    const errors = text.split('\n').flatMap(line => RecordedError.safeParse(parseJson(line)).data ?? [])
    const last = errors.findLast(({ timestamp }) => timestamp >= since)?.data
    if (last) return { code: last.statusCode ?? NO_CODE, message: last.message, data: { errorKind: last.errorType } }
    await sleep(LOOK_MS)
  }
  return undefined
}
