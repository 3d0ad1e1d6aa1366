import * as z from 'zod'
import { postJson, problemIn, without } from '../channels/post-json.ts'
import type { NotifySettings, Sent } from '../notice.ts'
import { secretOf } from '../set-up.ts'

/** Longer than Telegram holds a poll open. */
const SLACK_MS = 15_000
const POLL_SECONDS = 50

const Chat = z.object({ id: z.number() })
const From = z.object({ id: z.number(), username: z.string().optional(), first_name: z.string().optional() })
const Markup = z.object({
  inline_keyboard: z.array(z.array(z.object({ text: z.string(), callback_data: z.string().optional() }))),
})
const Posted = z.object({
  message_id: z.number(),
  chat: Chat,
  from: From.optional(),
  text: z.string().optional(),
  reply_markup: Markup.optional(),
})

/** What somebody did in a chat that the bot is in: pressed a button, or wrote. Whatever else there is is left out. */
export const Update = z.object({
  update_id: z.number(),
  callback_query: z
    .object({ id: z.string(), from: From, data: z.string().optional(), message: Posted.optional() })
    .optional(),
  message: Posted.extend({ reply_to_message: Posted.optional() }).optional(),
})
export type Update = z.infer<typeof Update>

const Updates = z.object({ ok: z.literal(true), result: z.array(z.unknown()) })

/** A bot and the one chat it talks to. */
export interface TelegramBot {
  readonly chat: string
  /** The bot's own id, as its token says. */
  readonly id: string
  call(method: string, body: Record<string, unknown>, signal: AbortSignal): Promise<Sent>
  /** What happened since, waiting for it; a failure is a value. */
  updates(offset: number, signal: AbortSignal): Promise<{ updates: Update[]; next: number } | { problem: string }>
}

/** The client of Telegram's bot API: plain HTTP, with the token in the path. */
export function telegramBot(
  { bot_token, chat_id, base_url }: NotifySettings['telegram'],
  env: Record<string, string | undefined>,
): TelegramBot {
  const token = secretOf(bot_token, env) ?? ''
  const url = (method: string) => `${base_url.replace(/\/+$/, '')}/bot${token}/${method}`
  const secrets = [token]
  return {
    chat: secretOf(chat_id, env) ?? '',
    id: token.split(':')[0] ?? '',
    call: (method, body, signal) => postJson({ url: url(method), body, signal, secrets }),
    async updates(offset, signal) {
      try {
        const reply = await fetch(url('getUpdates'), {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ offset, timeout: POLL_SECONDS, allowed_updates: ['callback_query', 'message'] }),
          redirect: 'error',
          signal: AbortSignal.any([signal, AbortSignal.timeout(POLL_SECONDS * 1000 + SLACK_MS)]),
        })
        const body: unknown = await reply.json()
        const read = Updates.safeParse(body)
        if (!reply.ok || !read.success) {
          return { problem: without(`${reply.status}: ${JSON.stringify(body).slice(0, 200)}`, secrets) }
        }
        return readUpdates(read.data.result, offset)
      } catch (error) {
        return { problem: without(problemIn(error), secrets) }
      }
    },
  }
}

/** One that cannot be read is passed over, or it would come again for ever. */
function readUpdates(raw: unknown[], offset: number): { updates: Update[]; next: number } {
  const updates = raw.flatMap(each => {
    const read = Update.safeParse(each)
    return read.success ? [read.data] : []
  })
  const ids = raw.flatMap(each => {
    const id = (each as { update_id?: unknown } | null)?.update_id
    return typeof id === 'number' ? [id] : []
  })
  return { updates, next: Math.max(offset, ...ids.map(id => id + 1)) }
}
