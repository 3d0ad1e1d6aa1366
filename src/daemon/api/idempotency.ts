import { createHash } from 'node:crypto'
import { DAY_MS } from '../../base/clock.ts'
import { AppError } from '../../base/errors.ts'
import type { Store } from '../../store/store.ts'

/** How long a reply is kept for a client that asks again. */
const KEPT_MS = DAY_MS
/** How often old replies are deleted, at most. */
const PRUNED_EVERY_MS = 60 * 60_000
const MAX_KEY = 200

export interface OnceRequest {
  /** Whose key it is: two callers may use the same text. */
  caller: string
  key: string
  /** The route with what its path and query say. */
  route: string
  body: unknown
}

/** A reply, and the JSON that was stored of it. */
export interface OnceReply {
  status: number
  json: string
  /** Whether it is the reply to an earlier request. */
  isRepeated: boolean
}

/** Does what a request asks for once, however often it is sent. */
export interface Once {
  /** Throws `reply_of_another` if the key was used for something else, `reply_unknown` if nobody knows how far the first one came. */
  run(request: OnceRequest, work: () => Promise<{ status: number; json: string }>): Promise<OnceReply>
}

/**
 * The request is noted before it is done and its reply after it. So a daemon that dies in between never does it twice: the note
 * without a reply says that somebody has to look. A request that was refused is forgotten and may be sent again.
 */
export function openOnce({ apiReplies }: Pick<Store, 'apiReplies'>, now: () => number = Date.now): Once {
  const running = new Map<string, { hash: string; reply: Promise<OnceReply> }>()
  let prunedAt = 0

  async function doOnce(request: OnceRequest, hash: string, work: Parameters<Once['run']>[1]): Promise<OnceReply> {
    const { caller, key, route } = request
    if (now() - prunedAt > PRUNED_EVERY_MS) {
      prunedAt = now()
      await apiReplies.dropBefore(now() - KEPT_MS)
    }
    if (!(await apiReplies.begin({ caller, key, route, hash, created_at: now() }))) {
      const known = await apiReplies.get(caller, key)
      if (known && known.hash !== hash) throw new AppError('reply_of_another', { key })
      if (!known || known.status === null || known.reply === null) throw new AppError('reply_unknown', { key })
      return { status: known.status, json: known.reply, isRepeated: true }
    }
    try {
      const { status, json } = await work()
      await apiReplies.finish(caller, key, { status, reply: json })
      return { status, json, isRepeated: false }
    } catch (error) {
      if (error instanceof AppError && error.http < 500) await apiReplies.drop(caller, key)
      throw error
    }
  }

  return {
    async run(request, work) {
      const { caller, key, route, body } = request
      if (!/^[\x21-\x7e]+$/.test(key) || key.length > MAX_KEY) {
        const problem = `Idempotency-Key: up to ${MAX_KEY} printable characters without spaces`
        throw new AppError('bad_request', { problem })
      }
      const hash = createHash('sha256')
        .update(`${route}\n${JSON.stringify(body) ?? ''}`)
        .digest('base64url')
      const id = `${caller}\n${key}`
      const same = running.get(id)
      if (same && same.hash !== hash) throw new AppError('reply_of_another', { key })
      if (same) return { ...(await same.reply), isRepeated: true }
      const reply = doOnce(request, hash, work)
      running.set(id, { hash, reply })
      try {
        return await reply
      } finally {
        running.delete(id)
      }
    },
  }
}
