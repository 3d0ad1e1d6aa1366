import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A server on loopback that records every notice to people. */
export interface NoticeServer extends AsyncDisposable {
  readonly url: string
  readonly messages: { at: number; title: string; text: string }[]
}

/** Opens it. */
export async function openNoticeServer(): Promise<NoticeServer> {
  const messages: NoticeServer['messages'] = []
  const server = createServer(async (incoming, response) => {
    let text = ''
    for await (const chunk of incoming) text += String(chunk)
    const { title, message } = JSON.parse(text) as { title: string; message: string }
    messages.push({ at: Date.now(), title, text: message })
    response.end('{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    messages,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
