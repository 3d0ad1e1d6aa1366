import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { parseReply, rawRequest } from '../../../src/cli/connection/raw-request.ts'
import { tempDir } from '../../support/world.ts'

const token = 'secret'
const bytes = (text: string) => Buffer.from(text)

test('a reply with a length is complete when its last byte has arrived, counted in bytes', () => {
  const reply = bytes('HTTP/1.1 200 OK\r\nContent-Length: 6\r\nX-A: b: c\r\n\r\n"日"x')
  assert.equal(parseReply(reply.subarray(0, reply.length - 2), false), undefined)
  assert.deepEqual(parseReply(reply, false), {
    status: 200,
    headers: { 'content-length': '6', 'x-a': 'b: c' },
    bytes: Buffer.from('"日"x'),
  })
})

test('a chunked reply is joined, also when a character is split between chunks', () => {
  const [first, rest] = [bytes('日').subarray(0, 1), bytes('日').subarray(1)]
  const head = bytes('HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n')
  const reply = Buffer.concat([head, bytes('2\r\na'), first, bytes('\r\n3\r\n'), rest, bytes('b\r\n0\r\n\r\n')])
  assert.equal(parseReply(reply.subarray(0, reply.length - 7), false), undefined)
  assert.equal(parseReply(reply, false)?.bytes.toString(), 'a日b')
  assert.deepEqual(parseReply(reply, false)?.status, 404)
})

test('a reply without a length ends with the connection', () => {
  const reply = bytes('HTTP/1.1 200 OK\r\n\r\n{}')
  assert.equal(parseReply(reply, false), undefined)
  assert.equal(parseReply(reply, true)?.bytes.toString(), '{}')
})

test('an absent daemon is not an error: no socket, or a file in its place', async t => {
  const dir = tempDir(t)
  const socket = join(dir, 's')
  assert.equal(await rawRequest({ socket, token, path: '/' }), undefined)
  writeFileSync(socket, 'not a socket')
  assert.equal(await rawRequest({ socket, token, path: '/' }), undefined)
})

test('a socket of another user in /tmp gets neither the token nor a hearing', async t => {
  const socket = join(mkdtempSync('/tmp/pcc-test-'), 's')
  t.after(() => rmSync(dirname(socket), { recursive: true }))
  let asked = 0
  const server = createServer(connection => {
    asked++
    connection.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}')
  }).listen(socket)
  t.after(() => server.close())
  assert.equal((await rawRequest({ socket, token, path: '/' }))?.status, 200)
  t.mock.method(process as { getuid(): number }, 'getuid', () => 4_000_000)
  assert.equal(await rawRequest({ socket, token, path: '/' }), undefined)
  assert.equal(asked, 1)
})

test('the request carries the token and the host, and an answer that comes in pieces is read', async t => {
  const dir = tempDir(t)
  const socket = join(dir, 's')
  let received = ''
  const server = createServer(connection => {
    connection.on('data', chunk => {
      received += chunk
      connection.write('HTTP/1.1 200 OK\r\ncontent-le')
      setImmediate(() => connection.write('ngth: 2\r\n\r\n{'))
      setTimeout(() => connection.write('}'), 20)
    })
  })
  await new Promise<void>(resolve => server.listen(socket, resolve))
  t.after(() => server.close())
  const reply = await rawRequest({ socket, token, path: '/sessions?a=b' })
  assert.equal(reply?.bytes.toString(), '{}')
  assert.match(received, /^GET \/sessions\?a=b HTTP\/1\.1\r\n/)
  assert.match(received, /\r\nHost: pcc\r\nAuthorization: Bearer secret\r\n/)
})

test('an answer that never comes is an error that says so', async t => {
  const dir = tempDir(t)
  const socket = join(dir, 's')
  const server = createServer(() => {})
  await new Promise<void>(resolve => server.listen(socket, resolve))
  t.after(() => server.close())
  await assert.rejects(rawRequest({ socket, token, path: '/', timeoutMs: 50 }), /no answer within 0.05 s/)
})

test('a body is streamed while it arrives; one that is cut off is an error, and the body of an error reply is kept', async t => {
  const dir = tempDir(t)
  const socket = join(dir, 's')
  const firstPieceTaken = Promise.withResolvers<void>()
  const server = createServer(connection => {
    connection.on('data', async chunk => {
      const path = String(chunk).split(' ')[1]
      if (path === '/refused') return connection.end('HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\n{}')
      connection.write('HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nabc')
      await firstPieceTaken.promise
      connection.end(path === '/whole' ? 'def' : 'd')
    })
  })
  await new Promise<void>(resolve => server.listen(socket, resolve))
  t.after(() => server.close())
  const request = async (path: string) => {
    const pieces: string[] = []
    const take = (piece: Buffer) => {
      pieces.push(String(piece))
      firstPieceTaken.resolve()
    }
    const reply = await rawRequest({ socket, token, path, take })
    return { pieces, left: String(reply?.bytes), status: reply?.status }
  }
  assert.deepEqual(await request('/whole'), { pieces: ['abc', 'def'], left: '', status: 200 })
  await assert.rejects(request('/cut'), /in the middle of its answer/)
  assert.deepEqual(await request('/refused'), { pieces: [], left: '{}', status: 404 })
})
