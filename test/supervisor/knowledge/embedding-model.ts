import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import type { Ending } from '../../support/world.ts'

/** A model on loopback that knows some meanings, with the format of Ollama and of OpenAI. `dies` after so many texts, until it is told otherwise. */
export async function openEmbeddingModel(t: Ending, meanings: readonly RegExp[]) {
  const heard: { path: string; texts: string[]; key: string | undefined }[] = []
  const state = { dies: Number.POSITIVE_INFINITY }
  const server: Server = createServer(async (request, response) => {
    const { input } = (await json(request)) as { input: string | string[] }
    const texts = [input].flat()
    const count = heard.reduce((sum, each) => sum + each.texts.length, 0)
    if (count + texts.length > state.dies) return request.socket.destroy()
    heard.push({ path: request.url ?? '', texts, key: request.headers.authorization })
    const vectors = texts.map(text => [...meanings.map(words => (words.test(text) ? 1 : 0)), 0.1])
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(
      JSON.stringify({
        ...{ model: 'x', embeddings: vectors, total_duration: 1, load_duration: 1, prompt_eval_count: 1 },
        ...{ data: vectors.map((embedding, index) => ({ index, embedding })), usage: { prompt_tokens: 1 } },
      }),
    )
  }).listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, heard, state }
}
