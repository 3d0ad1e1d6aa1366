import fastify from 'fastify'

// The peer: a bare Fastify that sends one body. It prints its port.
const body: unknown = JSON.parse(process.argv[2] ?? '{}')
const app = fastify()
app.get('/api/v1/tasks/:task', async () => body)
await app.listen({ host: '127.0.0.1', port: 0 })
const address = app.server.address()
process.stdout.write(`${typeof address === 'object' ? address?.port : ''}\n`)
