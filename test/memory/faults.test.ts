import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { appendFileSync, chmodSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { recordId } from '../../src/domain/memory.ts'
import { MemoryBroker } from '../../src/memory/broker.ts'
import { auditMemory } from '../../src/memory/examine.ts'
import { erase, forget } from '../../src/memory/forget.ts'
import { postRecords } from '../../src/memory/outbox.ts'
import { fullDiskEnv } from '../support/full-disk.ts'
import { bareEnv, tempDir } from '../support/world.ts'
import { bytesBelow, killWriters, runChild } from './kill-rounds.ts'
import { fact, PERSON } from './records.ts'

const CHILD = fileURLToPath(new URL('./memory-child.ts', import.meta.url))
const BUBBLEWRAP = '/usr/bin/bwrap'

test('a writer that is killed at any step loses nothing that it was told is stored, and nothing is stored twice', t => {
  const { acknowledged, killed } = killWriters(tempDir(t), 6)
  assert.ok(acknowledged > 3 && killed > 3)
})

test('what is forgotten is nowhere on the disk, also if the process is killed in the middle, and does not come back', t => {
  for (const point of ['', 'memory.after-forget-note', 'memory.before-forgotten']) {
    const folder = tempDir(t)
    const poison = fact('the passphrase is Xyzzy-plugh')
    const other = fact('a rule that stays')
    const posted = fact('Xyzzy-plugh once more', { actor: 'hook', authority: 'agent' })
    {
      using memory = new MemoryBroker(folder)
      memory.write([poison, other])
      memory.catchUp()
      assert.equal(memory.find({ reader: PERSON, text: 'xyzzy' }).length, 1)
      // A killed writer left a part of the same line, and a hook wrote of it without a daemon.
      appendFileSync(join(folder, 'log', 'project_git-a.000001.jsonl'), JSON.stringify(poison).slice(0, -20))
      postRecords(folder, [posted])
    }
    const { said, stderr } = runChild(folder, ['forget', 'Xyzzy'], point === '' ? {} : { PCC_CRASH_AT: point })
    assert.deepEqual(said, point === '' ? ['2'] : [], stderr)
    using memory = new MemoryBroker(folder)
    memory.catchUp()
    assert.ok(erase(memory, { withinMs: 60_000 }))
    assert.ok(!/xyzzy/i.test(bytesBelow(folder)), point)
    assert.deepEqual(memory.write([poison, posted]).known.sort(), [poison.id, posted.id].sort())
    memory.rebuild()
    memory.catchUp()
    assert.deepEqual(
      memory.find({ reader: PERSON }).map(({ item }) => item.text),
      ['a rule that stays'],
    )
    assert.deepEqual(memory.write([poison]).known, [poison.id], 'nor after everything was derived anew')
  }
})

test('a process that has the memory open sees what another one forgot, and writes on', t => {
  const folder = tempDir(t)
  using first = new MemoryBroker(folder)
  using second = new MemoryBroker(folder)
  const secret = fact('something secret')
  first.write([secret, fact('something else')])
  assert.equal(second.find({ reader: PERSON, text: 'something' }).length, 2)
  assert.deepEqual(forget(second, [secret.id]), [secret.id])
  first.write([fact('something new')])
  assert.deepEqual(
    first
      .find({ reader: PERSON, text: 'something' })
      .map(({ item }) => item.text)
      .sort(),
    ['something else', 'something new'],
  )
})

test('two processes write at once, and each record is there once', async t => {
  const folder = tempDir(t)
  const writers = ['one', 'two'].map(name =>
    spawn(process.execPath, [CHILD, folder, 'write', name, '40'], {
      env: bareEnv('/'),
      stdio: ['ignore', 'pipe', 'inherit'],
    }),
  )
  const said = await Promise.all(
    writers.map(async child => {
      let text = ''
      for await (const chunk of child.stdout) text += String(chunk)
      return text.split('\n').filter(Boolean)
    }),
  )
  using memory = new MemoryBroker(folder)
  assert.equal(new Set(said.flat()).size, 160)
  const { records, doubled, damaged } = auditMemory(memory)
  assert.deepEqual({ records, doubled, damaged }, { records: 160, doubled: 0, damaged: [] })
})

test('on a full disk a write is refused, and the same write is stored once there is room', t => {
  const folder = tempDir(t)
  const full = join(folder, 'full')
  runChild(folder, ['write', 'first', '1'])
  writeFileSync(full, '')
  const refused = runChild(folder, ['write', 'second', '400'], fullDiskEnv(full))
  assert.match(refused.said.at(-1) ?? '', /^failed memory_unwritable: .*full/)
  rmSync(full)
  assert.equal(runChild(folder, ['write', 'second', '400'], fullDiskEnv(full)).said.length, 800)
  using memory = new MemoryBroker(folder)
  const { records, doubled, damaged } = auditMemory(memory)
  assert.deepEqual({ records, doubled, damaged }, { records: 802, doubled: 0, damaged: [] })
  assert.ok(memory.record(recordId('second 399 1'), PERSON))
})

test('a disk that takes only a part of the lines keeps none of them', t => {
  const dir = tempDir(t)
  const file = join(dir, 'global.000001.jsonl')
  writeFileSync(file, 'first\n')
  const segments = new URL('../../src/memory/segments.ts', import.meta.url)
  const program = `import { Segments } from '${segments}'
    const segments = new Segments('${dir}')
    try { segments.append('global', segments.list()[0], ['x'.repeat(3_000), 'y'.repeat(3_000)]) }
    catch (error) { console.log(error.code) }`
  // A file that may not become larger takes what fits, as a full disk does.
  const limited = ['-c', 'ulimit -f 8; exec "$0" --input-type=module -e "$1"', process.execPath, program]
  assert.equal(spawnSync('sh', limited, { encoding: 'utf8', env: bareEnv('/') }).stdout, 'memory_unwritable\n')
  assert.equal(readFileSync(file, 'utf8'), 'first\n')
})

test('memory on a disk that cannot be written is read, and a write says why it cannot be', {
  skip: existsSync(BUBBLEWRAP) ? false : 'it needs bubblewrap',
}, t => {
  const folder = tempDir(t)
  runChild(folder, ['write', 'rule', '1'])
  const fixed = (...job: string[]) =>
    spawnSync(
      BUBBLEWRAP,
      ['--dev-bind', '/', '/', '--ro-bind', folder, folder, process.execPath, CHILD, folder, ...job],
      {
        env: bareEnv('/'),
        encoding: 'utf8',
      },
    ).stdout.trim()
  assert.equal(fixed('find', 'rule'), '2')
  assert.match(fixed('write', 'more', '1'), /^failed memory_unwritable: .*read-only/)
})

test('the folder of another user, or one inside of it, is never used, and one that everybody shares is', t => {
  const folder = tempDir(t)
  t.mock.method(process as { getuid(): number }, 'getuid', () => 4_000_000)
  for (const place of [folder, join(folder, 'a', 'b')])
    assert.throws(() => new MemoryBroker(place), { code: 'memory_foreign' })
  assert.deepEqual(readdirSync(folder), [])
  chmodSync(folder, 0o1777)
  using memory = new MemoryBroker(join(folder, 'mine'))
  assert.ok(memory.isWritable)
})
