import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { EventEmitter, once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openLog } from '../../src/base/log.ts'
import { openSystemLog } from '../../src/base/system-log.ts'
import { tempDir } from '../support/world.ts'

/** What a receiver got, and a wait until it has enough. */
class Received extends EventEmitter<{ more: [] }> {
  text = ''

  take(piece: Buffer): void {
    this.text += piece
    this.emit('more')
  }

  async has(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const found = pattern.exec(this.text)
      if (found) return found
      await once(this, 'more')
    }
  }
}

/** A server for connections at a port or a path. */
async function receiveAt(t: TestContext, where: { port: number; host: string } | { path: string }) {
  const received = new Received()
  const open = new Set<Socket>()
  const server: Server = createServer(socket => {
    open.add(socket.on('error', () => {}).on('data', piece => received.take(piece)))
  })
  server.listen(where)
  await once(server, 'listening')
  const close = async () => {
    for (const socket of open) socket.destroy()
    if (server.listening) await new Promise(resolve => server.close(resolve))
  }
  t.after(close)
  return { received, server, close }
}

function systemLog(t: TestContext, target: string, programs: Partial<Record<'logger' | 'systemd-cat', string>> = {}) {
  const problems: string[] = []
  const log = openSystemLog(target, { find: name => programs[name], failed: problem => problems.push(problem) })
  t.after(() => log[Symbol.asyncDispose]())
  return { log, problems }
}

const line = (level: string, msg: string) => `{"level":"${level}","time":"2026-01-02T03:04:05.678Z","msg":"${msg}"}\n`

test('lines of each log reach a receiver of RFC 5424 by UDP with their level, time and program', async t => {
  const received = new Received()
  const receiver = createSocket('udp4').on('message', message => received.take(Buffer.concat([message, NEWLINE])))
  receiver.bind(0, '127.0.0.1')
  await once(receiver, 'listening')
  t.after(() => receiver.close())
  const { log, problems } = systemLog(t, `udp://127.0.0.1:${receiver.address().port}`)
  log.copyFor('access')(line('info', 'request'))
  log.copyFor('daemon')(line('error', 'broken'))
  log.copyFor('agents')(line('debug', `${'x'.repeat(200_000)}`))
  const message = (pri: number, name: string, text: string) =>
    new RegExp(
      `<${pri}>1 2026-01-02T03:04:05\\.678Z \\S+ pcc-${name} ${process.pid} - - \\{"level":"\\w+",[^\n]*${text}`,
    )
  await received.has(message(30, 'access', 'request"\\}\n'))
  await received.has(message(27, 'daemon', 'broken"\\}\n'))
  const [long] = await received.has(/<31>1 [^\n]* pcc-agents [^\n]*\n/)
  assert.equal(long.length, 60_001, 'it is cut, because a datagram holds no more')
  assert.deepEqual(problems, [])
})

const NEWLINE = Buffer.from('\n')

test('by TCP each message comes after its length; a receiver that comes back gets later lines, and the loss is told once', async t => {
  const first = await receiveAt(t, { port: 0, host: '127.0.0.1' })
  const { port } = first.server.address() as { port: number }
  const { log, problems } = systemLog(t, `tcp://127.0.0.1:${port}`)
  const send = log.copyFor('daemon')
  send(line('warn', 'größer'))
  const [, length, message] = await first.received.has(/^(\d+) (<28>1 .*größer"\})$/)
  assert.equal(Number(length), Buffer.byteLength(message ?? ''))
  await first.close()
  for (let at = 0; problems.length === 0; at++) {
    send(line('warn', `lost ${at}`))
    await new Promise(setImmediate)
  }
  for (let at = 0; at < 50; at++) send(line('warn', 'also lost'))
  assert.equal(problems.length, 1, problems.join('; '))
  const again = await receiveAt(t, { port, host: '127.0.0.1' })
  const sending = setInterval(() => send(line('warn', 'here again')), 20)
  t.after(() => clearInterval(sending))
  await again.received.has(/here again/)
})

test('the journal gets each log under its own name with its level, through systemd-cat', async t => {
  const dir = tempDir(t)
  const { received } = await receiveAt(t, { path: join(dir, 'stdout') })
  // The real program, in a file system in which the journal is ours.
  const program = join(dir, 'systemd-cat')
  const bwrap = `bwrap --dev-bind / / --tmpfs /run --bind ${dir} /run/systemd/journal --die-with-parent`
  writeFileSync(program, `#!/bin/sh\nPATH=/usr/bin:/bin exec ${bwrap} systemd-cat "$@"\n`, { mode: 0o700 })
  const { log, problems } = systemLog(t, 'journald', { 'systemd-cat': program })
  log.copyFor('access')(line('warn', 'slow'))
  // The head of a stream: name, unit, level, whether lines have a level of their own, three times no.
  await received.has(/pcc-access\n\n\d\n1\n0\n0\n0\n<4>\{"level":"warn".*slow"\}\n/)
  log.copyFor('daemon')(line('error', 'broken'))
  await received.has(/pcc-daemon\n\n\d\n1\n0\n0\n0\n<3>\{"level":"error".*broken"\}\n/)
  assert.deepEqual(problems, [])
})

test("the machine's own syslog gets them through logger at the socket that is named", async t => {
  const path = join(tempDir(t), 'log')
  const { received } = await receiveAt(t, { path })
  const { log, problems } = systemLog(t, `unix://${path}`, { logger: '/usr/bin/logger' })
  log.copyFor('agents')(line('warn', 'driver'))
  await received.has(/<28>.*pcc-agents\[\d+\]: \{"level":"warn".*driver"\}/)
  assert.deepEqual(problems, [])
})

test('a program that is missing is told once, and lines go on to the file without their secrets', async t => {
  const dir = tempDir(t)
  mkdirSync(join(dir, 'logs'))
  const { log: system, problems } = systemLog(t, 'journald')
  const sent: string[] = []
  const copies = [system.copyFor('daemon'), (text: string) => sent.push(text)]
  const log = openLog({ file: join(dir, 'logs', 'daemon.log'), level: 'info', maxBytes: 1e6, keep: 1, copies })
  log.hide(['a-secret-value'])
  log.info({ value: 'a-secret-value' }, 'one')
  log.info({}, 'two')
  log.close()
  assert.deepEqual(problems, ['the program systemd-cat is missing'])
  assert.match(sent[0] ?? '', /"value":"\[hidden\]","msg":"one"/)
})

test('that lines are lost is logged without losing itself for ever', t => {
  let told = 0
  const system = openSystemLog('journald', {
    find: () => undefined,
    failed: problem => {
      told += 1
      system.copyFor('daemon')(line('warn', problem))
    },
  })
  t.after(() => system[Symbol.asyncDispose]())
  system.copyFor('daemon')(line('info', 'one'))
  system.copyFor('daemon')(line('info', 'two'))
  assert.equal(told, 1)
})
