import { randomUUID } from 'node:crypto'
import examples from '@octokit/webhooks-examples' with { type: 'json' }
import { sign } from '@octokit/webhooks-methods'

export const GITHUB_SECRET = 'a-secret-that-github-has-too'
export const REPOSITORY = 'octo/shop'

// biome-ignore lint/suspicious/noExplicitAny: GitHub's own shapes, of which a test changes some fields
export type Payload = any

/** A message of GitHub's real shape, about our repository and of now. */
export function githubPayload(event: string, action: string, change: (payload: Payload) => void = () => {}): Payload {
  const all =
    (examples as unknown as { name: string; examples: Payload[] }[]).find(({ name }) => name === event)?.examples ?? []
  const found = all.find(example => example.action === action && (event !== 'issue_comment' || example.issue))
  if (!found) throw new Error(`there is no example of ${event}.${action}`)
  const text = JSON.stringify(found).replaceAll('Codertocat/Hello-World', REPOSITORY)
  const payload = JSON.parse(text.replace(/"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"/g, JSON.stringify(new Date()))) as Payload
  payload.repository.full_name = REPOSITORY
  change(payload)
  return payload
}

export interface SignedMessage {
  headers: Record<string, string>
  raw: string
}

/** Signs a message as GitHub does, by GitHub's own library. */
export async function signedByGitHub(
  event: string,
  payload: Payload,
  { delivery = randomUUID(), secret = GITHUB_SECRET }: { delivery?: string; secret?: string } = {},
): Promise<SignedMessage> {
  const raw = typeof payload === 'string' ? payload : JSON.stringify(payload)
  const headers = {
    'content-type': 'application/json',
    'x-github-event': event,
    'x-github-delivery': delivery,
    'x-hub-signature-256': await sign(secret, raw),
  }
  return { headers, raw }
}
