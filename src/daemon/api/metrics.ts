import type { FastifyInstance } from 'fastify'
import type { DaemonContext, Metrics } from '../context.ts'
import { requireReader } from './health.ts'

/** Metrics that cost nothing until somebody asks: the library is loaded, and events are counted, from the first scrape on. */
export function openLazyMetrics(daemon: () => DaemonContext): Metrics {
  let opened: Promise<Metrics> | undefined
  return {
    async scrape() {
      opened ??= import('./collect-metrics.ts').then(({ openMetrics }) => openMetrics(daemon()))
      return (await opened).scrape()
    },
    [Symbol.asyncDispose]: async () => (await opened?.catch(() => undefined))?.[Symbol.asyncDispose](),
  }
}

/** The metrics of the daemon in Prometheus' format. */
export function metricsRoutes(app: FastifyInstance, daemon: DaemonContext): void {
  app.get('/metrics', async (request, reply) => {
    await requireReader(request, daemon)
    const { type, text } = await daemon.metrics.scrape()
    return reply.type(type).header('cache-control', 'no-store').send(text)
  })
}
