import type { Channel, NoticeKind } from '../notice.ts'
import { postJson } from './post-json.ts'

export interface Ntfy {
  server: string
  topic: string
  token?: string | undefined
}

const TAGS: Record<NoticeKind, string> = {
  question: 'question',
  error: 'rotating_light',
  rate_limit: 'hourglass',
  report: 'newspaper',
  complete: 'white_check_mark',
}

/** Publishes to a topic of ntfy, as JSON, so that no header has to hold words of an agent. */
export function ntfyChannel({ server, topic, token }: Ntfy): Channel {
  return {
    name: 'ntfy',
    send: ({ kind, title, text, sound }, signal) =>
      postJson({
        url: server,
        headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
        body: { topic, title, message: text || title, priority: priorityOf(kind, sound), tags: [TAGS[kind]] },
        signal,
        secrets: [topic, token ?? ''],
      }),
  }
}

/** 2 comes without a sound, 4 is shown above others. */
function priorityOf(kind: NoticeKind, sound: boolean): number {
  if (!sound) return 2
  return kind === 'question' || kind === 'error' ? 4 : 3
}
