/** The worker thread that checks arguments against schemas that take long. */
import { parentPort } from 'node:worker_threads'
import { checkArguments, type Question } from './argument-verdicts.ts'

parentPort?.on('message', (question: Question) => parentPort?.postMessage(checkArguments(question)))
