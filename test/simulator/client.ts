/** A minimal client of the Messages API that plays the agent's part in a conversation. */
export type Said = { role: 'user' | 'assistant' | 'system'; content: unknown }

export const user = (content: unknown): Said => ({ role: 'user', content })
export const assistant = (content: unknown): Said => ({ role: 'assistant', content })
export const result = (text: string, failed = false): Said =>
  user([{ type: 'tool_result', tool_use_id: 'toolu_1', content: text, is_error: failed }])

/** Posts messages and returns the raw response. */
export function post(
  url: string,
  messages: Said[],
  { stream = false, headers = {}, signal, ...more }: PostOptions = {},
): Promise<Response> {
  return fetch(`${url}/v1/messages?beta=true`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': 'sk-ant-fake-0000', ...headers },
    body: JSON.stringify({ model: 'claude-test', max_tokens: 100, stream, messages, ...more }),
    ...(signal ? { signal } : {}),
  })
}

interface PostOptions {
  stream?: boolean
  headers?: Record<string, string>
  signal?: AbortSignal
  [field: string]: unknown
}

export interface Reply {
  status: number
  id?: string
  text?: string
  content?: { type: string; text?: string; name?: string; input?: unknown }[]
  stop_reason?: string
  usage?: Record<string, number>
  error?: { type: string; message: string }
}

/** Posts messages and returns the answer, or the error, as one object. */
export async function say(url: string, messages: Said[], options: PostOptions = {}): Promise<Reply> {
  const response = await post(url, messages, options)
  const body = (await response.json()) as Omit<Reply, 'status' | 'text'>
  const text = (body.content ?? []).map(block => block.text ?? '').join('')
  return { ...body, status: response.status, text }
}
