import { request as httpRequest } from 'node:http'
import { json } from 'node:stream/consumers'
import { AppError, messageOf } from '../../base/errors.ts'
import { remoteError } from '../report.ts'

/** Where the tools of a session are called, and what opens it. */
export interface Door {
  socket: string
  capability: string
}

interface DaemonCall extends Door {
  method: 'GET' | 'POST'
  path: string
  body?: unknown
  /** Whoever calls waits no longer: what is asked of a person is called off. */
  signal?: AbortSignal
}

/** Asks the daemon in the name of one session. A daemon that is down is not started: it is what started us. */
export async function callDaemon<T>({ socket, capability, method, path, body, signal }: DaemonCall): Promise<T> {
  const payload = body === undefined ? undefined : JSON.stringify(body)
  const { status, answer } = await new Promise<{ status: number; answer: unknown }>((resolve, reject) => {
    const gone = (error: unknown) =>
      reject(new AppError('no_tools', { problem: `the daemon is gone (${messageOf(error)})` }))
    const request = httpRequest({
      socketPath: socket,
      method,
      path,
      agent: false,
      ...(signal && { signal }),
      headers: {
        host: 'pcc',
        authorization: `Bearer ${capability}`,
        ...(payload && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(payload) }),
      },
    })
    request.once('response', reply =>
      json(reply).then(found => resolve({ status: reply.statusCode ?? 500, answer: found }), gone),
    )
    request.once('error', gone)
    request.end(payload)
  })
  if (status >= 400) throw remoteError(answer)
  return answer as T
}
