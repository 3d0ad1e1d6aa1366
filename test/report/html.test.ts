import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { chromium } from 'playwright-core'
import { reportPage } from '../../src/cli/commands/report.ts'
import { reportHtml } from '../../src/cli/commands/report-html.ts'
import { terminalOf } from '../../src/cli/render/text.ts'
import type { Report } from '../../src/domain/report.ts'
import { tempDir } from '../support/world.ts'
import { aNight } from './a-night.ts'

const BROWSER = '/usr/bin/chromium'
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]
/** `.ci/run` installs it, so that it is never left out there. */
const NO_BROWSER = existsSync(BROWSER) ? false : `there is no ${BROWSER} here: apt-get install chromium`
const PLAIN = terminalOf({ columns: 110 }, {})

test('the page opens in a browser without a network: its numbers, its picture and its timeline are those of the report', {
  skip: NO_BROWSER,
}, async t => {
  const report = await (await aNight(t)).report()
  const file = join(tempDir(t), 'report.html')
  writeFileSync(file, reportHtml(report))
  // A profile of its own, under a short path: the browser makes a socket in it.
  const profile = mkdtempSync(join(tmpdir(), 'pcc-browser-'))
  const browser = await chromium.launchPersistentContext(profile, {
    executablePath: BROWSER,
    headless: true,
    args: FLAGS,
  })
  t.after(async () => {
    await browser.close()
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 })
  })
  const page = await browser.newPage()
  const asked: string[] = []
  const problems: string[] = []
  page.on('request', request => asked.push(request.url()))
  page.on('console', message => problems.push(message.text()))
  page.on('pageerror', error => problems.push(error.message))
  await page.goto(`file://${file}`)
  assert.deepEqual([asked, problems], [[`file://${file}`], []])
  const tile = (id: string) => page.locator(`#${id} b`).textContent()
  assert.deepEqual(
    [await tile('done'), await tile('failed'), await tile('unfinished'), await tile('waiting'), await tile('cost')],
    ['2', '1', '1', '2', '$5.25'],
  )
  assert.equal(await page.locator('#timeline i').count(), report.timeline.length)
  assert.equal(await page.locator('#graph g').count(), report.graph.length)
  assert.equal(report.graph.length, 6)
  const words = await page.locator('main').textContent()
  for (const { title } of [...report.done, ...report.failed]) assert.ok(words?.includes(title), title)
  for (const text of ['pcc respond 1', 'rounding of totals', 'answers 401', 'you said so on Thursday'])
    assert.ok(words?.includes(text), text)
  // Nothing is wider than the page, and the picture is really drawn.
  const [inner, outer] = (await page.evaluate('[document.documentElement.scrollWidth, innerWidth]')) as [number, number]
  assert.ok(inner <= outer, `${inner} ${outer}`)
  const box = await page.locator('#graph svg').boundingBox()
  assert.ok((box?.width ?? 0) > 300 && (box?.height ?? 0) > 50)
  assert.match(await page.title(), /^Report · pcc-shop-\w+ · Sat 14 Nov to Sun 15 Nov$/)
  assert.match((await page.locator('.legend').textContent()) ?? '', /failed.*had to wait/)
  const colour = (name: string) =>
    page.evaluate(`getComputedStyle(document.querySelector('#timeline i.${name}')).backgroundColor`)
  assert.deepEqual([await colour('failed'), await colour('waiting')], ['rgb(198, 42, 47)', 'rgb(173, 87, 0)'])
  // On a phone every bar is on the screen, the picture is a list, and no id is broken.
  await page.setViewportSize({ width: 390, height: 844 })
  const wide = (await page.evaluate('[document.documentElement.scrollWidth, innerWidth]')) as [number, number]
  assert.ok(wide[0] <= 390, `${wide}`)
  for (const bar of await page.locator('#timeline i').all()) {
    const { x = -1, width = 0 } = (await bar.boundingBox()) ?? {}
    assert.ok(x >= 0 && width > 0 && x + width <= 390, `${x} ${width}`)
  }
  assert.deepEqual([await page.locator('#graph').isVisible(), await page.locator('.order').isVisible()], [false, true])
  assert.equal(await page.locator('.order li').count(), report.graph.length)
  for (const id of await page.locator('.id').all()) {
    if (await id.isVisible()) assert.ok(((await id.boundingBox())?.height ?? 0) < 30, (await id.textContent()) ?? '')
  }
  // A long word widens nothing, the times stay in one line, and no arrow runs under a box.
  const long = 'Supercali'.repeat(40)
  const [first, second, third] = report.graph
  assert.ok(first && second && third)
  const graph = [first, { ...second, after: [first.id] }, { ...third, after: [first.id, second.id] }]
  await page.setContent(reportHtml({ ...report, graph, done: report.done.map(task => ({ ...task, title: long })) }))
  for (const width of [390, 1440]) {
    await page.setViewportSize({ width, height: 844 })
    assert.ok(((await page.evaluate('document.documentElement.scrollWidth')) as number) <= width, `at ${width}`)
    const heights = await page.evaluate("[...document.querySelectorAll('.tick')].map(tick => tick.offsetHeight)")
    assert.ok(
      (heights as number[]).every(height => height < 20),
      `${heights}`,
    )
  }
  assert.deepEqual(
    await page.evaluate(`[...document.querySelectorAll('#graph svg > path')].map(${POINTS_IN_BOXES})`),
    [0, 0, 0],
  )
})

/** How many of a hundred points of an arrow are within a box. */
const POINTS_IN_BOXES = `path => Array.from({ length: 100 }, (_, at) => path.getPointAtLength((path.getTotalLength() * at) / 100))
  .filter(point => [...document.querySelectorAll('#graph g rect')].some(({ x, y, width, height }) =>
    point.x > x.baseVal.value + 1 && point.x < x.baseVal.value + width.baseVal.value - 1 &&
    point.y > y.baseVal.value && point.y < y.baseVal.value + height.baseVal.value)).length`

test('words of agents are words on the page: no tag, no script, no control character comes through', async t => {
  const report = await (await aNight(t)).report()
  const evil = '<script>alert(1)</script>"\'&\x1b[31m\u202e'
  const done = report.done.map(task => ({
    ...task,
    title: evil,
    commits: [{ hash: 'f'.repeat(40), subject: evil, at: 0 }],
  }))
  const about = { project: evil, session_id: evil, task_id: evil, title: evil, number: 1, risk: null }
  const waiting = [
    { kind: 'question', key: evil, text: evil, next: evil, since: 1, count: 1, priority: 0, ...about } as const,
  ]
  const shown = [{ at: 1, session_id: evil, what: evil, verdict: 'allowed', by: evil, why: evil } as const]
  const graph = report.graph.map(task => ({ ...task, title: evil }))
  const timeline = report.timeline.map(stretch => ({ ...stretch, title: evil }))
  const all: Report = {
    ...report,
    done,
    failed: done,
    waiting,
    graph,
    timeline,
    decisions: { ...report.decisions, shown, packages: [{ name: evil, session_id: evil, at: 1 }] },
  }
  const html = reportHtml(all)
  assert.doesNotMatch(html, /<script|\x1b|\u202e/)
  assert.doesNotMatch(reportPage(all, PLAIN).join('\n'), /\x1b|\u202e/)
})

test('in a terminal: what needs the person stands before what was spent; an empty night is one line', async t => {
  const night = await aNight(t)
  const page = reportPage(await night.report(), PLAIN).join('\n')
  const order = ['Done', 'Failed', 'Not finished', 'Waiting for you', 'Spent', 'Limits', 'Decided for you', 'Runs']
  assert.deepEqual(
    order.toSorted((one, other) => page.indexOf(`\n${one}\n`) - page.indexOf(`\n${other}\n`)),
    order,
  )
  assert.match(page, /✓ 2 done {3}✗ 1 failed {3}● 1 not finished {3}○ 2 not begun {3}\? 2 waiting for you {3}\$5\.25/)
  assert.match(page, /19 calls allowed, 1 refused, 1 question answered; you decided 1/)
  assert.match(page, /Packages installed that no lock file named: zod$/m)
  assert.match(reportHtml(await night.report()), /<li>Packages installed that no lock file named: zod<\/li>/)
  const empty = await night.report({ project: '/elsewhere' })
  assert.deepEqual(reportPage(empty, PLAIN).slice(1), ['', 'Nothing was worked on.'])
  assert.match(reportHtml(empty), /Nothing was worked on\./)
})

test('a task that nobody began is named with what it waits for, and 40 columns lose no title and no command', async t => {
  const report = await (await aNight(t)).report()
  const [failed, other] = [report.failed[0]?.id ?? '', report.graph[0]]
  assert.ok(other)
  const late = { ...other, id: 't-0b10c4', title: 'Ship it', state: 'blocked' as const, after: [failed] }
  const all = { ...report, graph: [...report.graph, late] }
  assert.match(reportPage(all, PLAIN).join('\n'), new RegExp(`\\n  ○ t-0b10c4 Ship it  waits for ${failed}\\n`))
  assert.match(reportHtml(all), /<h2>Not begun<\/h2><ul>[\s\S]*Ship it /)
  const given = {
    ...all,
    graph: all.graph.map(task => (task.id === failed ? { ...task, state: 'cancelled' as const } : task)),
  }
  assert.match(reportPage(given, PLAIN).join('\n'), new RegExp(`Ship it  waits for ${failed} \\(cancelled\\)\n`))
  assert.match(
    reportHtml(all),
    /give it up with: pcc task cancel <[^>]+>t-[0-9a-f]{6}</,
    'an id in a sentence does not break',
  )
  const narrow = reportPage(all, { ...PLAIN, width: 40 })
  const words = narrow.join(' ').replaceAll(/\s+/g, ' ')
  for (const { title } of [...report.done, ...report.failed]) assert.ok(words.includes(title.slice(0, 20)), title)
  for (const { text, next } of report.waiting)
    assert.ok(words.includes(text.split('\n')[0] ?? '') && words.includes(next))
  const spent = narrow.slice(narrow.indexOf('Spent'), narrow.indexOf('Limits'))
  assert.ok(spent.length > 3 && spent.every(line => line.length <= 40), spent.join('\n'))
})

test('of several projects each is named; a run that did not begin stands among the runs, its words harmless', async t => {
  const night = await aNight(t)
  const report = await night.report()
  const [head = '', ...rest] = reportPage(report, PLAIN)
  assert.match(head, /^Report · pcc-shop-\w+ · Sat 14 Nov 22:00 to /)
  assert.doesNotMatch(rest.join('\n'), /pcc-shop-/)
  const late = { schedule_id: 'c-1', target: 'this project', due_at: night.since, reason: 'no <b>disk\x1b[2J</b>' }
  const both = { ...report, not_begun: [{ ...late, project: '/elsewhere/blog\x1b[31m' }] }
  const page = reportPage(both, PLAIN).join('\n')
  assert.match(page, /Cart API {2}pcc-shop-\w+ · 40m/)
  assert.match(page, /\n {2}c-1 blog␛\[31m, this project, .* 22:00: no <b>disk␛\[2J<\/b>/)
  assert.match(reportHtml(both), /c-1<\/span> blog␛\[31m, this project, .*no &#60;b&#62;disk␛\[2J&#60;\/b&#62;/)
  assert.doesNotMatch(reportHtml(both) + page, /\x1b/)
  const done = ['/code/old/shop', '/code/new/shop'].flatMap(project => report.done.map(task => ({ ...task, project })))
  const twins = reportPage({ ...report, done, failed: [], unfinished: [], runs: [] }, PLAIN).join('\n')
  assert.match(twins, /Cart API {2}old\/shop · [\s\S]*Cart API {2}new\/shop · /, 'two of one name are told apart')
})
