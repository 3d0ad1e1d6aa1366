import * as z from 'zod'
import { momentMs } from './moment.ts'

export const Moment = z
  .union([z.string(), z.number().min(0)], 'is not a time: write +90s, an ISO date or seconds since the epoch')
  .refine(
    moment => momentMs(moment, 0) !== undefined,
    'is not a time: write +90s, an ISO date or seconds since the epoch',
  )
