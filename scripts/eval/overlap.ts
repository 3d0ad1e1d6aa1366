import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openParser } from '../../src/base/syntax/parser.ts'
import { openIndex } from '../../src/knowledge/index/code-index.ts'
import { OverlapPredictor } from '../../src/knowledge/overlap.ts'
import { git } from '../../src/workspace/git/git.ts'

// npm run eval -- --overlap [--repo <path>]: how well pcc predicts which tasks will change the same files. A commit stands for a task: its message is all that is known of it. Commits that
// followed one another stand for tasks that could have run at once: every pair of a window is judged with the index of the commit before the window.

const COMMITS = 400
const WINDOW = 20
/** A commit that changes more files would conflict with everything. */
const MOST_FILES = 40

interface PastCommit {
  hash: string
  text: string
  files: string[]
}

interface JudgedPair {
  probability: number
  isTrue: boolean
}

/** Prints how well the overlap of tasks is predicted on the history of a repository. */
export async function reportOverlap(repo: string): Promise<void> {
  const pairs = await judgePairs(repo)
  const { auc, ap, share } = scorePairs(pairs)
  process.stdout.write(
    `\noverlap of ${pairs.length} pairs, ${(100 * share).toFixed(1)} % of them true: AUC ${auc.toFixed(3)} (at least .80), AP ${ap.toFixed(3)} (at least .35)\n`,
  )
}

/** Judges pairs of commits of a repository. */
async function judgePairs(repo: string, commits = COMMITS): Promise<JudgedPair[]> {
  const folder = mkdtempSync(join(tmpdir(), 'pcc-eval-'))
  const checkout = join(folder, 'checkout')
  const run = (...args: string[]) => execFileSync('git', args, { cwd: checkout, stdio: 'pipe' })
  using parser = openParser()
  const pairs: JudgedPair[] = []
  try {
    execFileSync('git', ['clone', '-q', '--no-hardlinks', repo, checkout], { stdio: 'pipe' })
    const past = readCommits(checkout, commits)
    await using index = openIndex({
      projectRoot: checkout,
      data: join(folder, 'data'),
      git: (args, options) => git(checkout, args, options),
      parse: parser.parse,
    })
    for (let at = 0; at + WINDOW <= past.length; at += WINDOW) {
      const window = past.slice(at, at + WINDOW)
      run('checkout', '-qf', `${window[0]?.hash}^`)
      await index.update()
      const tasks = window.map(({ hash, text }) => ({ id: hash, text, paths: [] }))
      const predictor = new OverlapPredictor()
      for (const [number, task] of tasks.entries()) {
        const others = tasks.slice(number + 1)
        const { answer } = await index.ask(file => predictor.predict(file, task, others), { freshMs: 60_000 })
        const files = new Set(window[number]?.files)
        for (const [other, { probability }] of answer.entries())
          pairs.push({ probability, isTrue: window[number + 1 + other]?.files.some(file => files.has(file)) ?? false })
      }
      process.stderr.write('.')
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  return pairs
}

/** The newest commits that have a parent and change a few files, from the oldest on. */
function readCommits(checkout: string, most: number): PastCommit[] {
  const format = '--format=%x01%H%x00%P%x00%B%x00'
  const args = ['log', '--no-merges', `-n${most}`, '--name-only', format]
  const log = execFileSync('git', args, { cwd: checkout, maxBuffer: 1e9 }).toString()
  return log
    .split('\x01')
    .slice(1)
    .flatMap(record => {
      const [hash = '', parents = '', text = '', names = ''] = record.split('\0')
      const files = names.split('\n').filter(name => name !== '')
      return parents === '' || files.length === 0 || files.length > MOST_FILES ? [] : [{ hash, text, files }]
    })
    .reverse()
}

/** The area under the curve of true against false positives, and the average precision. */
function scorePairs(pairs: readonly JudgedPair[]): { auc: number; ap: number; share: number } {
  const sorted = pairs.toSorted((a, b) => b.probability - a.probability)
  const positives = sorted.filter(({ isTrue }) => isTrue).length
  const negatives = sorted.length - positives
  let [found, passed, area, precision] = [0, 0, 0, 0]
  for (const { isTrue } of sorted) {
    if (!isTrue) passed += 1
    else {
      found += 1
      area += negatives - passed
      precision += found / (found + passed)
    }
  }
  return { auc: area / (positives * negatives), ap: precision / positives, share: positives / sorted.length }
}
