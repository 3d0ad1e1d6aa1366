import assert from 'node:assert/strict'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { appPathsFor } from '../../../../src/base/app-paths.ts'
import { gitProject } from '../../../support/world.ts'
import { pccFor } from '../../pcc.ts'

/** The end of this file. */
const ending = { after: (end: () => unknown) => after(async () => void (await end())) }
const cwd = gitProject(ending, {
  'src/orders.ts':
    "import { chargeCard } from './payment.ts'\n\nexport function saveOrder(total: number): boolean {\n  return chargeCard(total)\n}\n",
  'src/payment.ts':
    '/** Charges a credit card. */\nexport function chargeCard(cents: number): boolean {\n  return cents > 0\n}\n',
  '.env': 'CARD=chargeCard\n',
})
const pcc = pccFor(ending, { PCC_KNOWLEDGE_ENABLED: '', PCC_BRAIN_OLLAMA_HOST: 'http://127.0.0.1:1' })
const run = async (...args: string[]) => {
  const { code, stdout, stderr } = await pcc.run(args, { cwd })
  assert.equal(code, 0, stderr)
  return stdout
}
const indexes = () => {
  const folder = join(appPathsFor({ env: pcc.env }).data, 'index')
  return existsSync(folder) ? readdirSync(folder).filter(name => name.endsWith('.db')).length : 0
}

test('pcc init indexes the code, unless it is told to skip that or knowledge.enabled is false', async () => {
  assert.doesNotMatch(await run('init', '--skip-index'), /Indexed/)
  const off = await pcc.run(['init'], { cwd, env: { PCC_KNOWLEDGE_ENABLED: 'false' } })
  assert.doesNotMatch(off.stdout, /ndexed/)
  assert.ok(!existsSync(appPathsFor({ env: pcc.env }).socket), 'no daemon was needed for that')
  assert.match(
    await run('init'),
    /✓ Scanned the project: \d+ files, \d+ read\n✓ Built the code graph: 2 modules, 2 functions\n✓ Indexed the code: \d+ chunks\nSearches go by words alone.+ \(ollama nomic-embed-text: nothing answers at http:\/\/127\.0\.0\.1:1 \(ECONNREFUSED\)\)\.\n/,
  )
  assert.equal(indexes(), 1)
  const { index } = JSON.parse(await run('init', '--json'))
  assert.deepEqual([index.read, index.functions, index.problems], [0, 2, []])
})

test('pcc index says what changed and can begin anew', async () => {
  const again = await run('index')
  assert.match(again, /^✓ Scanned the project: \d+ files, nothing changed\n/)
  assert.doesNotMatch(again, /words alone/, 'it was said once')
  assert.match(await run('index', '--rebuild'), /^✓ Scanned the project: (\d+) files, \1 read\n/)
})

test('pcc search shows the best file first, with the lines that match, and JSON with everything', async () => {
  const shown = await run('search', 'charge', 'a', 'card')
  assert.match(shown, /^src\/payment\.ts:1-4 {2}chargeCard {2}\d+\.\d\n {2}1 {2}\/\*\* Charges a credit card\. \*\/\n/)
  assert.match(shown, /\nIndex of commit \w{8}, \d+ files changed since\n$/)
  assert.doesNotMatch(shown, /\.env/)
  const colored = await pcc.run(['search', 'charge', '--top', '1'], { cwd, env: { FORCE_COLOR: '1' } })
  assert.ok(colored.stdout.includes('\x1b[33mcharge\x1b[39mCard'), colored.stdout)
  const found = JSON.parse(await run('search', 'saveOrder', '--symbol', '--json'))
  assert.match(found.commit, /^[0-9a-f]{40}$/)
  assert.ok(found.dirty_files > 0)
  const [{ score, file_path, chunk_text, metadata, start_line, end_line }] = found.results
  assert.deepEqual([file_path, start_line, end_line, typeof score], ['src/orders.ts', 3, 5, 'number'])
  assert.match(chunk_text, /^export function saveOrder/)
  assert.equal(metadata.kind, 'function')
  assert.match(await run('search', 'charge', '--path', 'docs'), /^Nothing was found for "charge"\.\n/)
  const wordy = await pcc.run(['search', 'ニャー '.repeat(10_000)], { cwd })
  assert.deepEqual([wordy.code, /only its beginning is used/.test(wordy.stderr)], [0, true], wordy.stderr)
})

test('pcc search finds notes and names them as such', async () => {
  await run('notes', 'add', 'Zebra cards', 'Striped cards are refused.', '--tags', 'cards')
  assert.match(
    await run('search', 'striped'),
    /^\.perpetualcc\/knowledge\/zebra-cards\.md:\d+-\d+ {2}note: Zebra cards /,
  )
})

test('pcc graph shows what is connected, as a tree, as a diagram and as JSON', async () => {
  const tree = await run('graph', 'chargeCard', '--depth', '1')
  assert.match(tree, /^chargeCard function, src\/payment\.ts:2\n {2}called by saveOrder function, src\/orders\.ts:3\n/)
  assert.match(tree, /\(syntactic: may miss dynamic calls\)\n$/)
  const diagram = await run('graph', 'src/orders.ts', '--mermaid')
  assert.match(diagram, /^graph LR\n {2}n0\["src\/orders\.ts"\]\n[\s\S]*-->\|imports\|/)
  assert.deepEqual(JSON.parse(await run('graph', 'src/orders.ts', '--json')).start, ['src/orders.ts'])
  const unknown = await pcc.run(['graph', '.env'], { cwd })
  assert.deepEqual([unknown.code, /has no file and no definition named \.env/.test(unknown.stderr)], [2, true])
})

test('knowledge.enabled = false in the project’s own file keeps the code from being searched', async () => {
  writeFileSync(join(cwd, '.perpetualcc.toml'), '[knowledge]\nenabled = false\n')
  for (const args of [['search', 'x'], ['graph', 'x'], ['index']]) {
    const { code, stderr } = await pcc.run(args, { cwd })
    assert.deepEqual([code, /knowledge\.enabled is false/.test(stderr)], [2, true], stderr)
  }
})
