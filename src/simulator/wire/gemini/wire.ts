import type { Route, Wire } from '../wire.ts'
import { encode, streamedAnswer, wholeAnswer } from './answer.ts'
import { geminiFailure, googleError } from './fault.ts'
import { readGemini } from './request.ts'

const PATH = /^\/v1(?:beta|alpha)?\/models\/([^/:]+):(streamGenerateContent|generateContent|countTokens)$/

/** The Gemini API of Google. */
export const geminiWire: Wire = {
  name: 'gemini',
  idHeader: 'x-request-id',
  serves: 'POST /v1beta/models/<model>:streamGenerateContent, :generateContent and :countTokens',
  route(method, path): Route | undefined {
    const [, model, verb] = (method === 'POST' && PATH.exec(path)) || []
    if (!verb) return undefined
    if (verb === 'countTokens') return { asks: 'count', model }
    return { asks: 'answer', model, stream: verb === 'streamGenerateContent' }
  },
  read: readGemini,
  pieces: streamedAnswer,
  whole: wholeAnswer,
  count: tokens => ({ totalTokens: tokens }),
  // Google tells nobody how much is left.
  windows: () => ({}),
  failure: geminiFailure,
  refusal: (status, message) => googleError(status, message),
  broken: 'data: {"candidates":[{"content":{"role":"mod\r\n\r\n',
  errorEvent: (_type, message) => encode(googleError(503, message)),
}
