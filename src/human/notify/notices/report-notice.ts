import type { EventOf } from '../../../domain/event.ts'
import type { Notice } from '../notice.ts'

/** The night in one message. One in which nothing happened, and after which nothing waits, is not worth a message. */
export function reportNotice({ id, body }: EventOf<'report.made'>): Notice | undefined {
  const { done, failed, unfinished, waiting, not_begun = 0, cost_usd, titles } = body
  if (done + failed + unfinished + waiting + not_begun === 0) return undefined
  const counts: [number, string][] = [
    [done, 'done'],
    [failed, 'failed'],
    [unfinished, 'not finished'],
    [waiting, waiting === 1 ? 'waits for you' : 'wait for you'],
    [not_begun, `${not_begun === 1 ? 'run' : 'runs'} did not begin`],
  ]
  const told = counts.flatMap(([count, words]) => (count === 0 ? [] : [`${count} ${words}`]))
  const left = done + failed - titles.length
  return {
    kind: 'report',
    key: `report:${id}`,
    title: `The night: ${told.join(', ')}`,
    text: [
      ...titles.map((title, index) => `${index < failed ? '✗' : '✓'} ${title}`),
      ...(left > 0 ? [`… and ${left} more`] : []),
      `$${cost_usd.toFixed(2)} spent`,
      'The whole: pcc report',
    ].join('\n'),
  }
}
