import * as z from 'zod'
import { DELIVERY_STATES, type DeliveryState } from './option-values.ts'

/** One message from outside. It is stored before its sender gets an answer. */
export interface WebhookDelivery {
  id: number
  /** One of `WEBHOOK_SOURCES`, or the name of a webhook of the person's own. */
  source: string
  /** The sender's id of the message. */
  delivery: string
  /** SHA-256 of what was signed: the same message under another id is still the same. */
  digest: string
  /** What kind of message it is, as the sender says. */
  event: string
  /** Its bytes as text; empty once it is worked on for good. */
  body: string
  state: DeliveryState
  /** What was done, or why nothing was. */
  outcome: string | null
  /** The ids of the tasks that it is about, with spaces between. */
  tasks: string
  tries: number
  /** When it is worked on next. */
  next_at: number
  received_at: number
  updated_at: number
}

/** A delivery as people see it. */
export type WebhookView = Omit<WebhookDelivery, 'digest' | 'body' | 'next_at'> & { body?: string | undefined }

/** Whether a webhook can work, and what is missing. */
export interface WebhookSetup {
  name: string
  direction: 'in' | 'out'
  /** The path that senders call, or the address that is called. */
  address: string
  problem: string | null
  /** Of those in: how many wait. Of those out: how many events wait to be sent. */
  waiting: number
}

export const ListWebhooks = z.strictObject({
  state: z.enum(DELIVERY_STATES).optional(),
  source: z.string().min(1).max(64).optional(),
  limit: z.coerce.number().int().min(1).max(1_000).default(50),
})

/** What a message from outside asks for. */
export type WebhookAction =
  | {
      do: 'task'
      /** The name under which the work is found again: of two messages about the same thing only one makes a task. */
      alias: string
      /** A person asks for it again: it is also done where an earlier task of the same name is over. */
      again?: string | undefined
      /** The project's directory. */
      project: string
      title: string
      text: string
      labels: string[]
    }
  /** The work on a branch of ours goes back to the conversation that did it. */
  | { do: 'return'; project: string; branch: string; commit: string | undefined; reason: string; report: string }
  /** A branch of ours was merged. */
  | { do: 'landed'; project: string; branch: string; commit: string }
  /** Somebody pressed a button of our bot or wrote to it. */
  | { do: 'chat'; update: unknown }
  | { do: 'nothing'; why: string }
  | { do: 'refuse'; why: string }
